//! The key of a provider: where it comes from and how a request carries it.

use std::fmt;

use super::address::ProviderAddress;
use super::catalog::ProviderSpec;
use super::wire::Dialect;
use crate::base::env::Env;
use crate::net::keys;

/// A key, or a gateway's token.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credential {
    /// The secret itself.
    pub value: String,
    /// The variable that it comes from, or whose name its file has.
    pub variable: &'static str,
    /// A bearer token, where the provider's own keys have a header of their own.
    is_token: bool,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.variable)
    }
}

impl Credential {
    /// Whether it was set for `row` in particular, and not for other programs too.
    pub(crate) fn is_own(&self, row: &ProviderSpec) -> bool {
        self.is_token || row.key == Some(self.variable)
    }

    /// Whether a request can carry it.
    pub(crate) fn is_sound(&self) -> bool {
        self.value.bytes().all(|byte| byte.is_ascii_graphic())
    }
}

pub(crate) fn headers(dialect: Dialect, key: Option<&Credential>) -> Vec<(&'static str, String)> {
    match key {
        Some(token) if token.is_token => {
            let bearer = ("authorization", format!("Bearer {}", token.value));
            dialect.headers(None).into_iter().chain([bearer]).collect()
        }
        key => dialect.headers(key.map(|key| key.value.as_str())),
    }
}

/// The key of `row` at `address`, if it takes one: its variable, the file of that name under `~/.ssh/`, then the variables of other programs.
///
/// A gateway's token goes to a gateway only. There it comes before the key if other programs too find the gateway by that address: the key beside it
/// is the maker's own, and no business of the gateway.
pub(crate) fn find(env: &Env, row: &ProviderSpec, address: &ProviderAddress) -> Option<Credential> {
    let set = |variable: &'static str, is_token| {
        let value = env.get(variable)?.trim();
        (!value.is_empty()).then(|| Credential {
            value: value.to_owned(),
            variable,
            is_token,
        })
    };
    let token = || set(row.token.filter(|_| address.variable.is_some())?, true);
    let is_others = |name: &str| row.other_urls.iter().any(|other| other.variable == name);
    if address.variable.as_deref().is_some_and(is_others)
        && let Some(token) = token()
    {
        return Some(token);
    }
    let in_file = || {
        let variable = row.key?;
        let value = keys::in_file(env, variable)?;
        Some(Credential {
            value,
            variable,
            is_token: false,
        })
    };
    let others = || row.other_keys.iter().find_map(|other| set(other, false));
    row.key
        .and_then(|variable| set(variable, false))
        .or_else(in_file)
        .or_else(token)
        .or_else(others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::address::address;
    use crate::llm::catalog::{Wire, row};

    fn of(provider: &str, vars: &[(&str, &str)]) -> Option<(String, &'static str)> {
        let env = Env::new(vars.iter().map(|(k, v)| ((*k).into(), (*v).into())));
        let row = row(provider).unwrap();
        let found = find(&env, row, &address(&env, row))?;
        Some((found.value, found.variable))
    }

    #[test]
    fn a_key_of_other_programs_counts_where_the_own_one_is_missing() {
        let own = ("GEMINI_API_KEY", "own");
        let other = ("GOOGLE_API_KEY", "other");
        for (vars, wanted) in [
            (vec![own, other], Some(("own", "GEMINI_API_KEY"))),
            (vec![other], Some(("other", "GOOGLE_API_KEY"))),
            (vec![("GOOGLE_API_KEY", "  ")], None),
        ] {
            let wanted = wanted.map(|(value, variable)| (value.to_owned(), variable));
            assert_eq!(of("gemini", &vars), wanted);
        }
    }

    #[test]
    fn ollamas_key_is_a_bearer_of_ollama_alone() {
        let key = [("OLLAMA_API_KEY", "v")];
        assert_eq!(of("ollama", &key), Some(("v".to_owned(), "OLLAMA_API_KEY")));
        for row in crate::llm::catalog::ROWS.iter() {
            assert_eq!(of(row.name, &key).is_some(), row.name == "ollama");
        }
        let dialect = Dialect::of(row("ollama").unwrap(), "https://ollama.com");
        let env = Env::from(key);
        let found = find(
            &env,
            row("ollama").unwrap(),
            &address(&env, row("ollama").unwrap()),
        );
        let headers = headers(dialect, found.as_ref());
        assert!(headers.contains(&("authorization", "Bearer v".to_owned())));
    }

    #[test]
    fn a_gateways_token_goes_to_a_gateway_and_the_makers_key_does_not() {
        let (key, token) = (
            ("ANTHROPIC_API_KEY", "key"),
            ("ANTHROPIC_AUTH_TOKEN", "token"),
        );
        let gateway = ("ANTHROPIC_BASE_URL", "http://gw");
        let own = ("ANTHROPIC_URL", "http://gw");
        for (vars, wanted) in [
            (vec![key, token, gateway], Some("token")),
            (vec![token, gateway], Some("token")),
            (vec![key, gateway], Some("key")),
            (vec![key, token], Some("key")),
            (vec![token], None),
            (vec![key, token, own], Some("key")),
            (vec![token, own], Some("token")),
        ] {
            let found = of("anthropic", &vars).map(|(value, _)| value);
            assert_eq!(found.as_deref(), wanted, "{vars:?}");
        }
    }

    #[test]
    fn a_token_is_a_bearer_and_a_key_has_the_makers_header() {
        let dialect = Dialect::of(row("anthropic").unwrap(), "http://gw");
        assert_eq!(dialect.wire, Wire::Anthropic);
        let carried = |is_token| {
            let key = Credential {
                value: "v".to_owned(),
                variable: "X",
                is_token,
            };
            let mut headers = headers(dialect, Some(&key));
            headers.retain(|(_, value)| value.ends_with('v'));
            headers
        };
        assert_eq!(carried(true), [("authorization", "Bearer v".to_owned())]);
        assert_eq!(carried(false), [("x-api-key", "v".to_owned())]);
    }
}
