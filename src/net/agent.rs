//! How Marvin names itself to the servers it asks.

use crate::base::env::Env;

/// The `User-Agent`: one honest name with a contact (decisions.md 10).
pub fn agent(env: &Env) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let contact = env.get("MARVIN_CONTACT").map(|contact| {
        contact
            .chars()
            .filter(|c| c.is_ascii_graphic())
            .collect::<String>()
    });
    match contact {
        Some(contact) if !contact.is_empty() => format!("Marvin/{version} (+{contact})"),
        _ => format!("Marvin/{version}"),
    }
}
