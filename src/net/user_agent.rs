//! The User-Agent header.

use crate::base::env::Env;
use crate::base::variables::MARVIN_CONTACT;

/// The `User-Agent`: Marvin's name and version, and the contact of the environment, else `preferred`, else the project's address.
pub(crate) fn agent(env: &Env, preferred: Option<&str>) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let project = env!("CARGO_PKG_REPOSITORY");
    let candidates = [MARVIN_CONTACT.read(env), preferred, Some(project)];
    match candidates.into_iter().flatten().find_map(contact) {
        Some(contact) => format!("Marvin/{version} (+{contact})"),
        None => format!("Marvin/{version}"),
    }
}

/// A contact in a form that fits a header.
pub(crate) fn contact(text: &str) -> Option<String> {
    let plain: String = text.chars().filter(char::is_ascii_graphic).collect();
    (!plain.is_empty()).then_some(plain)
}
