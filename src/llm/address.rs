//! Where a provider is: Marvin's own variables, then those by which other programs find it, then its usual address.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

use super::catalog::{self, OtherUrl, ProviderSpec, UrlForm};
use crate::base::env::Env;
use crate::net::services::{self, without_slash};

const OLLAMA_PORT: u16 = 11434;

/// The address of a provider, and what decided it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProviderAddress {
    pub base: String,
    /// The variable that it comes from; `None` for the provider's usual address.
    pub variable: Option<Cow<'static, str>>,
}

impl ProviderAddress {
    /// The variable to look at when the address is wrong: the one that it comes from, else the one that would replace it.
    pub(crate) fn variable_to_check(&self, row: &ProviderSpec) -> Cow<'static, str> {
        let own = || catalog::variable(row.name, "URL").into();
        self.variable.clone().unwrap_or_else(own)
    }
}

/// The address of `row`: `<NAME>_URL`, else `MARVIN_URL_<ID>`, else the variables of other programs, else the row's.
pub(crate) fn address(env: &Env, row: &ProviderSpec) -> ProviderAddress {
    let own = [
        catalog::variable(row.name, "URL"),
        services::variable(row.name),
    ];
    let set = |name: &str| env.get(name).map(str::trim).filter(|url| !url.is_empty());
    for variable in own {
        if let Some(url) = set(&variable) {
            let base = without_slash(url).to_owned();
            return ProviderAddress {
                base,
                variable: Some(variable.into()),
            };
        }
    }
    let mut others = row.other_urls.iter();
    let found: Option<(&OtherUrl, &str)> =
        others.find_map(|other| Some((other, set(other.variable)?)));
    match found {
        Some((other, url)) => ProviderAddress {
            base: match other.form {
                UrlForm::Base => without_slash(url).to_owned(),
                UrlForm::Before(path) => with_path(without_slash(url), path),
                UrlForm::OllamaHost => of_ollama_host(url),
            },
            variable: Some(other.variable.into()),
        },
        None => ProviderAddress {
            base: row.base.to_owned(),
            variable: None,
        },
    }
}

/// `base` with what it lacks of `path`, whose beginning it may end in.
fn with_path(base: &str, path: &str) -> String {
    let ends = path.match_indices('/').map(|(at, _)| at);
    let parts = ends.skip(1).chain([path.len()]);
    let has = parts.filter(|end| path.get(..*end).is_some_and(|part| base.ends_with(part)));
    let missing = has.last().and_then(|end| path.get(end..)).unwrap_or(path);
    format!("{base}{missing}")
}

/// The address in `OLLAMA_HOST`, read as Ollama's own client reads it (`envconfig.Host`): a host, `:port` or both, with a scheme or without. The same
/// variable tells its server where to listen: an address that means every interface is this machine for a client.
fn of_ollama_host(value: &str) -> String {
    let value = value.trim_matches(['"', '\'']).trim();
    let (scheme, rest, port) = match value.split_once("://") {
        Some(("http", rest)) => ("http", rest, 80),
        Some(("https", rest)) => ("https", rest, 443),
        // Not an address that can be reached; the request says so.
        Some(_) => return without_slash(value).to_owned(),
        None if value == "ollama.com" => ("https", value, 443),
        None => ("http", value, OLLAMA_PORT),
    };
    let (place, path) = match rest.split_once('/') {
        Some((place, path)) => (place, path.trim_end_matches('/')),
        None => (rest, ""),
    };
    let (login, place) = match place.rsplit_once('@') {
        Some((login, place)) => (format!("{login}@"), place),
        None => (String::new(), place),
    };
    let (host, port) = host_and_port(place, port);
    let slash = if path.is_empty() { "" } else { "/" };
    format!("{scheme}://{login}{host}:{port}{slash}{path}")
}

fn host_and_port(place: &str, default: u16) -> (String, u16) {
    let bare = place.trim_matches(['[', ']']);
    let (host, port) = match place.rsplit_once(':') {
        // `::1` has no port.
        Some(_) if bare.parse::<Ipv6Addr>().is_ok() => (bare, default),
        Some((host, port)) => (
            host.trim_matches(['[', ']']),
            port.parse().unwrap_or(default),
        ),
        None => (bare, default),
    };
    let host = match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) if ip.is_unspecified() => "127.0.0.1".to_owned(),
        Ok(IpAddr::V6(ip)) if ip.is_unspecified() => "[::1]".to_owned(),
        Ok(IpAddr::V6(ip)) => format!("[{ip}]"),
        _ if host.is_empty() => "127.0.0.1".to_owned(),
        _ => host.to_owned(),
    };
    (host, port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::catalog::row;

    fn of(provider: &str, vars: &[(&str, &str)]) -> (String, Option<String>) {
        let env = Env::new(vars.iter().map(|(k, v)| ((*k).into(), (*v).into())));
        let found = address(&env, row(provider).unwrap());
        (found.base, found.variable.map(Cow::into_owned))
    }

    #[test]
    fn marvins_own_variables_come_first_and_then_those_of_other_programs() {
        let all = [
            ("OPENAI_URL", "http://own/v1/"),
            ("MARVIN_URL_OPENAI", "http://general/v1"),
            ("OPENAI_BASE_URL", "http://gateway/v1/"),
            ("OPENAI_API_BASE", "http://older/v1"),
        ];
        let wanted = [
            ("http://own/v1", Some("OPENAI_URL")),
            ("http://general/v1", Some("MARVIN_URL_OPENAI")),
            ("http://gateway/v1", Some("OPENAI_BASE_URL")),
            ("http://older/v1", Some("OPENAI_API_BASE")),
            ("https://api.openai.com/v1", None),
        ];
        for (set, (base, variable)) in wanted.into_iter().enumerate() {
            let found = of("openai", &all[set..]);
            assert_eq!(found, (base.to_owned(), variable.map(str::to_owned)));
        }
        let blank = of("openai", &[("OPENAI_URL", "  "), ("OPENAI_BASE_URL", "")]);
        assert_eq!(blank.1, None);
    }

    #[test]
    fn the_variable_to_check_is_the_one_that_decided() {
        let openai = row("openai").unwrap();
        let check = |env: &Env| address(env, openai).variable_to_check(openai);
        assert_eq!(check(&Env::default()), "OPENAI_URL");
        let env = Env::from([("MARVIN_URL_OPENAI", "http://a/v1")]);
        assert_eq!(check(&env), "MARVIN_URL_OPENAI");
        let env = Env::from([("OPENAI_BASE_URL", "http://a/v1")]);
        assert_eq!(check(&env), "OPENAI_BASE_URL");
    }

    #[test]
    fn an_address_before_a_path_gets_what_it_lacks_of_it() {
        for (provider, variable, value, base) in [
            (
                "anthropic",
                "ANTHROPIC_BASE_URL",
                "https://gw/anthropic/",
                "https://gw/anthropic",
            ),
            (
                "groq",
                "GROQ_BASE_URL",
                "https://gw",
                "https://gw/openai/v1",
            ),
            (
                "groq",
                "GROQ_BASE_URL",
                "https://gw/openai",
                "https://gw/openai/v1",
            ),
            (
                "groq",
                "GROQ_BASE_URL",
                "https://gw/openai/v1/",
                "https://gw/openai/v1",
            ),
            (
                "gemini",
                "GOOGLE_GEMINI_BASE_URL",
                "https://gw/",
                "https://gw/v1beta/openai",
            ),
            (
                "gemini",
                "GOOGLE_GEMINI_BASE_URL",
                "https://gw/v1beta",
                "https://gw/v1beta/openai",
            ),
            (
                "cerebras",
                "CEREBRAS_BASE_URL",
                "https://gw",
                "https://gw/v1",
            ),
        ] {
            assert_eq!(of(provider, &[(variable, value)]).0, base, "{value}");
        }
    }

    #[test]
    fn a_host_is_read_as_ollama_reads_it() {
        for (value, base) in [
            ("box", "http://box:11434"),
            ("box:1234", "http://box:1234"),
            (":1234", "http://127.0.0.1:1234"),
            ("http://box:1234/", "http://box:1234"),
            ("http://box", "http://box:80"),
            ("https://box", "https://box:443"),
            ("https://box/ollama/", "https://box:443/ollama"),
            ("https://me:secret@box", "https://me:secret@box:443"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:1234", "http://127.0.0.1:1234"),
            ("[::]:1234", "http://[::1]:1234"),
            ("::", "http://[::1]:11434"),
            ("::1", "http://[::1]:11434"),
            ("[fd00::1]:9", "http://[fd00::1]:9"),
            ("192.168.0.7", "http://192.168.0.7:11434"),
            ("box:none", "http://box:11434"),
            ("box:99999", "http://box:11434"),
            ("\"box\"", "http://box:11434"),
            ("ollama.com", "https://ollama.com:443"),
            ("ftp://box/", "ftp://box"),
        ] {
            assert_eq!(of("ollama", &[("OLLAMA_HOST", value)]).0, base, "{value}");
        }
        let both = [("OLLAMA_HOST", "a"), ("OLLAMA_URL", "http://b")];
        assert_eq!(of("ollama", &both).0, "http://b");
    }
}
