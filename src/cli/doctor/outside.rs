//! Outside services in `marvin doctor`: address, key and contact of each. Sends no request.

use super::finding::{Finding, finding};
use crate::app::profile;
use crate::base::env::Env;
use crate::base::variables::MARVIN_CONTACT;
use crate::cli::services::service_address;
use crate::disk::paths::Paths;
use crate::formats::address::Address;
use crate::net::services::{SERVICES, Service, shown_address, variable};
use crate::net::user_agent;
use crate::store::preferences;
use crate::tools::output::web_links;

enum MissingKey {
    /// The service works with restrictions.
    Less(&'static str),
    /// The service is not used.
    Unused(&'static str),
}

fn without(id: &str) -> MissingKey {
    match id {
        "semantic-scholar" => MissingKey::Less("it answers more reluctantly without"),
        "stackexchange" => MissingKey::Less("it answers fewer questions a day without"),
        "steam-api" => MissingKey::Less("what users own and play needs it"),
        "google-places" => MissingKey::Unused("OpenStreetMap is used instead"),
        "gnews" | "newsapi" => MissingKey::Unused("other news sources are used instead"),
        "groq-whisper" => MissingKey::Unused("voice input needs it"),
        "omdb" | "rawg" => MissingKey::Unused("the web is searched instead"),
        _ => MissingKey::Unused("it is not used"),
    }
}

/// Where to get a key, if known.
fn page(id: &str) -> Option<&'static str> {
    match id {
        "omdb" => Some(web_links::OMDB_KEY),
        "rawg" => Some(web_links::RAWG_KEY),
        "steam-api" => Some(web_links::STEAM_KEY),
        _ => None,
    }
}

/// One finding per service.
pub(super) fn findings(env: &Env) -> Vec<Finding> {
    let contact = contact(env);
    SERVICES
        .iter()
        .map(|service| one(service, env, contact.as_deref()))
        .collect()
}

/// The contact in the User-Agent: from the environment, else from the active profile.
fn contact(env: &Env) -> Option<String> {
    let set = MARVIN_CONTACT.read(env).and_then(user_agent::contact);
    set.or_else(|| {
        let paths = Paths::new(env);
        let profile = paths.profile(&profile::active(&paths)).ok()?;
        user_agent::contact(preferences::value(&profile, "contact")?.as_str()?)
    })
}

fn one(service: &'static Service, env: &Env, contact: Option<&str>) -> Finding {
    let address = service_address(service, env);
    let own = address.variable.is_some();
    let named = match address.variable {
        Some(variable) => variable.into_owned(),
        None => variable(service.id),
    };
    let base = &address.base;
    let mut state = vec![if own {
        format!("{} (by {named})", shown_address(base))
    } else {
        format!("{base} (default)")
    }];
    let mut advice = Vec::new();
    if own && Address::parse(&shown_address(base)).is_err() {
        state.push("which is not a valid address".to_owned());
        advice.push(format!(
            "Set {named} to http:// or https:// and a host, or remove it."
        ));
    }
    if service.contact {
        let word = if contact.is_some() { "set" } else { "not set" };
        state.push(format!("contact {word}"));
        if contact.is_none() && !own {
            advice.push(format!(
                "Its public server requires a contact: set MARVIN_CONTACT (or contact: in the preferences), or {named}."
            ));
        }
    }
    if let Some(key) = service.key {
        if service.key_in(env).is_some() {
            state.push(format!("{key} set"));
        } else {
            let (MissingKey::Less(then) | MissingKey::Unused(then)) = without(service.id);
            state.push(format!("{key} not set, {then}"));
            if matches!(without(service.id), MissingKey::Unused(_)) {
                let from =
                    page(service.id).map_or_else(String::new, |page| format!(" from {page}"));
                advice.push(format!("export {key}=…{from}"));
            }
        }
    }
    finding(
        "service",
        service.id,
        advice.is_empty(),
        state.join(", "),
        &advice.join(" "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;

    fn of(id: &str, vars: &[(&str, &str)]) -> Finding {
        let env = Env::new(
            vars.iter()
                .map(|(name, value)| ((*name).into(), (*value).into())),
        );
        let service = crate::net::services::service(id).unwrap();
        one(service, &env, contact(&env).as_deref())
    }

    #[test]
    fn a_service_says_where_it_is_and_what_it_lacks() {
        let found = of("open-meteo", &[]);
        assert!(found.ok && found.advice.is_empty());
        assert_eq!(found.state, "https://api.open-meteo.com (default)");

        let found = of(
            "open-meteo",
            &[("MARVIN_URL_OPEN_METEO", "http://me:pass@10.0.0.1:8/x")],
        );
        assert!(found.ok, "{}", found.advice);
        assert_eq!(
            found.state,
            "http://10.0.0.1:8/x (by MARVIN_URL_OPEN_METEO)"
        );

        let found = of("open-meteo", &[("MARVIN_URL_OPEN_METEO", "nonsense")]);
        assert!(!found.ok && found.advice.contains("MARVIN_URL_OPEN_METEO"));

        let found = of("omdb", &[]);
        assert!(!found.ok);
        assert_eq!(
            (found.state.as_str(), found.advice.as_str()),
            (
                "https://www.omdbapi.com (default), OMDB_API_KEY not set, the web is searched instead",
                "export OMDB_API_KEY=… from https://www.omdbapi.com/apikey.aspx"
            )
        );
        let found = of("omdb", &[("OMDB_API_KEY", "verysecret")]);
        assert!(
            found.ok && found.state.ends_with("OMDB_API_KEY set"),
            "{}",
            found.state
        );

        let found = of("stackexchange", &[]);
        assert!(
            found.ok
                && found
                    .state
                    .contains("STACKEXCHANGE_KEY not set, it answers fewer")
        );
    }

    #[test]
    fn public_servers_that_want_a_contact_say_so() {
        let found = of("nominatim", &[]);
        assert!(!found.ok && found.state.ends_with("contact not set"));
        assert_has(&found.advice, &["MARVIN_CONTACT", "MARVIN_URL_NOMINATIM"]);
        let found = of("overpass", &[("MARVIN_CONTACT", "me@example.org")]);
        assert!(found.ok && found.state.ends_with("contact set"));
        let found = of(
            "nominatim",
            &[("MARVIN_URL_NOMINATIM", "http://127.0.0.1:9")],
        );
        assert!(found.ok, "{}", found.advice);
    }
}
