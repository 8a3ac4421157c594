//! Which provider answers, at which address, with which key and model.

use std::borrow::Cow;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use ureq::http::Uri;

use super::address::address;
use super::catalog::{self, ProviderSpec, ROWS, Wire};
use super::credential::{self, Credential};
use super::wire::Dialect;
use super::{copilot, offline};
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text;
use crate::base::variables::Text;
use crate::net::service;
use crate::net::services::shown_address;
use crate::net::transport::port_of;

/// How long a local server may take to answer when no provider was named.
const PROBE: Duration = Duration::from_millis(100);

/// An HTTP provider, configured.
#[derive(Debug, Clone)]
pub(crate) struct RemoteTarget {
    pub row: &'static ProviderSpec,
    /// Effective base address.
    pub base: String,
    /// The variable to look at when the address is wrong.
    pub url_variable: Cow<'static, str>,
    /// Whether the user set the address.
    pub has_own_base: bool,
    /// Key, when one is set.
    pub key: Option<Credential>,
    /// Which of the user's accounts requests count for.
    account_headers: Vec<(&'static str, String)>,
    /// The wire that the user named for it.
    pub wire: Option<Wire>,
}

impl RemoteTarget {
    /// `row` at `base`, without a key.
    #[cfg(test)]
    pub(crate) fn at(row: &'static ProviderSpec, base: &str) -> Self {
        Self {
            row,
            base: base.to_owned(),
            url_variable: catalog::variable(row.name, "URL").into(),
            has_own_base: true,
            key: None,
            account_headers: Vec::new(),
            wire: None,
        }
    }

    pub(crate) fn headers(&self, dialect: Dialect) -> Vec<(&'static str, String)> {
        let mut headers = credential::headers(dialect, self.key.as_ref());
        headers.extend(self.account_headers.iter().cloned());
        headers
    }

    /// The variable to look at when the key is wrong; `None` when it needs none.
    pub(crate) fn key_variable(&self) -> Option<&'static str> {
        self.key.as_ref().map(|key| key.variable).or(self.row.key)
    }

    /// Values that must never be shown.
    pub(crate) fn secrets(&self) -> Vec<String> {
        self.key.iter().map(|key| key.value.clone()).collect()
    }

    /// Whether something is missing without which it cannot be asked: the key of a service. A server of the user's own may need none.
    pub(crate) fn lacks_key(&self) -> bool {
        self.row.key.is_some() && self.key.is_none() && !self.has_own_base
    }

    /// Whether what is said to it stays on this machine: its address is here, and it is a provider of local models or wants no key. Any other key is that of
    /// a service, which an address here only leads to.
    pub(crate) fn is_on_this_machine(&self) -> bool {
        (self.row.local || self.key.is_none()) && service::is_on_this_machine(&self.base)
    }
}

#[derive(Debug, Clone)]
pub(crate) enum ProviderChoice {
    Remote(RemoteTarget),
    /// The user's Copilot CLI.
    Copilot,
    /// The embedded one.
    Offline,
}

impl ProviderChoice {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Remote(remote) => remote.row.name,
            Self::Copilot => copilot::NAME,
            Self::Offline => offline::NAME,
        }
    }
}

/// Names that `--provider` takes.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    [copilot::NAME]
        .into_iter()
        .chain(ROWS.iter().map(|row| row.name))
        .chain([offline::NAME])
}

/// The provider called `named`, else the first that can work.
///
/// # Errors
/// An unknown name, or a named provider without its key: a named choice is never changed silently.
pub(crate) fn choose(env: &Env, named: Option<&str>) -> Outcome<ProviderChoice> {
    let chosen = match named {
        Some(name) => by_name(env, name)?,
        None => first_that_works(env),
    };
    if let ProviderChoice::Remote(remote) = &chosen {
        wire(env, remote.row)?;
        check_address(remote)?;
    }
    usable(chosen)
}

fn by_name(env: &Env, name: &str) -> Outcome<ProviderChoice> {
    let row = match catalog::provider_named(name) {
        Some(offline::NAME) => return Ok(ProviderChoice::Offline),
        // Whether it can answer shows with the first message, which also says what is missing.
        Some(copilot::NAME) => return Ok(ProviderChoice::Copilot),
        Some(name) => catalog::row(name),
        None => None,
    };
    let Some(row) = row else {
        let problem = Problem::input(format!(
            "There is no provider \"{}\".",
            text::clip(&text::escape_controls(name), 40)
        ))
        .near(name, names());
        return Err(problem.next(format!(
            "Providers: {} (marvin help providers).",
            names().collect::<Vec<_>>().join(", ")
        )));
    };
    let remote = remote(env, row);
    match row.key {
        Some(variable) if remote.lacks_key() => {
            let what = format!("{} needs a key.", row.name);
            let mut problem = Problem::new(ProblemKind::Auth, what);
            if let (Some(token), Some(url)) = (row.token, row.other_urls.first())
                && env.get(token).is_some()
            {
                let url = url.variable;
                problem = problem.next(format!(
                    "{token} is a gateway's token: set {url} to the gateway's address."
                ));
            }
            Err(problem.next(format!("Set {variable}, or choose another provider: --provider NAME (marvin help providers).")))
        }
        _ => Ok(ProviderChoice::Remote(remote)),
    }
}

fn first_that_works(env: &Env) -> ProviderChoice {
    if copilot::availability::is_ready(env) {
        return ProviderChoice::Copilot;
    }
    let keyed = || {
        let rows = ROWS.iter().filter(|row| row.key.is_some());
        rows.map(|row| remote(env, row))
            .filter(|remote| remote.key.is_some())
    };
    // A key that other programs use too may be meant for them alone: the ones that were set for Marvin's providers come first.
    let own = |remote: &RemoteTarget| {
        let key = remote.key.as_ref();
        key.is_some_and(|key| key.is_own(remote.row))
    };
    let ollama = || {
        catalog::row("ollama")
            .map(|row| remote(env, row))
            .filter(answers)
    };
    keyed()
        .find(own)
        .or_else(|| keyed().next())
        .or_else(ollama)
        .map_or(ProviderChoice::Offline, ProviderChoice::Remote)
}

/// Refuses an address that cannot be one. Its value may hold a password.
fn check_address(remote: &RemoteTarget) -> Outcome<()> {
    let uri = remote.base.parse::<Uri>().ok();
    let is_sound = uri.is_some_and(|uri| {
        let host = uri.host().unwrap_or_default();
        matches!(uri.scheme_str(), Some("http" | "https")) && !host.is_empty()
    });
    if is_sound {
        return Ok(());
    }
    let variable = &remote.url_variable;
    let shown = text::clip(&shown_address(&remote.base), 80);
    Err(
        Problem::config(format!("{variable} is \"{shown}\", which is no address."))
            .next(format!("Set {variable} to http:// or https:// and a host.")),
    )
}

/// Refuses a key that cannot be one: no request could carry it, and the refusal must not show it.
fn usable(chosen: ProviderChoice) -> Outcome<ProviderChoice> {
    match &chosen {
        ProviderChoice::Remote(RemoteTarget { key: Some(key), .. }) if !key.is_sound() => {
            let variable = key.variable;
            let what = format!(
                "The value of {variable} is not a valid key: it contains white space or characters that no key has."
            );
            Err(Problem::new(ProblemKind::Auth, what)
                .next(format!("Set {variable} to the key alone.")))
        }
        _ => Ok(chosen),
    }
}

/// The headers of `row` that variables set. A value that no header can carry is left out.
fn account_headers(env: &Env, row: &ProviderSpec) -> Vec<(&'static str, String)> {
    let value = |variables: &[Text]| {
        let mut set = variables.iter().filter_map(|variable| variable.read(env));
        let value = set.find(|value| !value.trim().is_empty())?.trim();
        let is_sound = value.bytes().all(|byte| byte.is_ascii_graphic());
        is_sound.then(|| value.to_owned())
    };
    let headers = row.account_headers.iter();
    headers
        .filter_map(|header| Some((header.name, value(header.variables)?)))
        .collect()
}

/// The row with its effective address and key.
pub(crate) fn remote(env: &Env, row: &'static ProviderSpec) -> RemoteTarget {
    let address = address(env, row);
    RemoteTarget {
        row,
        url_variable: address.variable_to_check(row),
        has_own_base: address.variable.is_some() && address.base != row.base,
        key: credential::find(env, row, &address),
        account_headers: account_headers(env, row),
        wire: wire(env, row).ok().flatten(),
        base: address.base,
    }
}

/// The word for a wire that `<NAME>_WIRE` can name: one of OpenAI's.
pub(crate) fn wire_word(wire: Wire) -> Option<&'static str> {
    match wire {
        Wire::Responses => Some("responses"),
        Wire::Completions => Some("completions"),
        Wire::Ollama | Wire::Anthropic => None,
    }
}

/// The wire that `<NAME>_WIRE` names, for servers that may speak either of OpenAI's.
///
/// # Errors
/// When it is another word.
pub(crate) fn wire(env: &Env, row: &ProviderSpec) -> Outcome<Option<Wire>> {
    if wire_word(row.wire).is_none() {
        return Ok(None);
    }
    let variable = catalog::variable(row.name, "WIRE");
    match env.get(&variable).map(str::trim) {
        None | Some("") => Ok(None),
        Some("responses") => Ok(Some(Wire::Responses)),
        Some("completions") => Ok(Some(Wire::Completions)),
        Some(other) => {
            let other = text::clip(&text::escape_controls(other), 40);
            Err(
                Problem::config(format!("{variable} is \"{other}\", which is not a wire.")).next(
                    format!("Set {variable} to responses or completions, or unset it."),
                ),
            )
        }
    }
}

/// The model: `<NAME>_MODEL`, else the row's.
pub(crate) fn model<'a>(env: &'a Env, row: &'a ProviderSpec) -> &'a str {
    env.get(&catalog::variable(row.name, "MODEL"))
        .unwrap_or(row.model)
}

/// True when something listens at the provider's address.
pub(crate) fn answers(remote: &RemoteTarget) -> bool {
    let Ok(uri) = remote.base.parse::<Uri>() else {
        return false;
    };
    let Some(host) = uri.host() else { return false };
    let addresses = (host.trim_matches(['[', ']']), port_of(&uri)).to_socket_addrs();
    addresses.is_ok_and(|mut addresses| {
        addresses.any(|address| TcpStream::connect_timeout(&address, PROBE).is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;

    #[test]
    fn the_address_says_whether_a_server_is_on_this_machine() {
        for (provider, vars, is_here) in [
            ("ollama", &[][..], true),
            ("ollama", &[("OLLAMA_HOST", "0.0.0.0:1234")], true),
            ("ollama", &[("OLLAMA_HOST", "[::1]")], true),
            ("ollama", &[("OLLAMA_HOST", "nas")], false),
            ("ollama", &[("OLLAMA_HOST", "192.168.0.7:11434")], false),
            ("ollama", &[("OLLAMA_URL", "http://LocalHost:1/")], true),
            (
                "ollama",
                &[("OLLAMA_URL", "http://ollama.localhost:1")],
                true,
            ),
            ("ollama", &[("OLLAMA_URL", "http://me@127.0.0.2:1")], true),
            ("ollama", &[("OLLAMA_URL", "https://ollama.com")], false),
            (
                "ollama",
                &[("OLLAMA_URL", "http://localhost.evil.example")],
                false,
            ),
            (
                "ollama",
                &[("OLLAMA_URL", "http://localhost@evil.example")],
                false,
            ),
            ("lmstudio", &[("LMSTUDIO_URL", "http://box:1234/v1")], false),
            (
                "openai-compat",
                &[("OPENAI_COMPAT_URL", "http://127.0.0.1:8000/v1")],
                true,
            ),
            (
                "openai-compat",
                &[
                    ("OPENAI_COMPAT_URL", "http://127.0.0.1:8000/v1"),
                    ("OPENAI_COMPAT_API_KEY", "k"),
                ],
                false,
            ),
        ] {
            let env = Env::new(vars.iter().map(|(k, v)| ((*k).into(), (*v).into())));
            let remote = remote(&env, catalog::row(provider).unwrap());
            assert_eq!(remote.is_on_this_machine(), is_here, "{provider} {vars:?}");
        }
    }

    #[test]
    fn organization_and_project_go_to_openai_alone() {
        let env = Env::from([
            ("OPENAI_ORG_ID", " "),
            ("OPENAI_ORGANIZATION", " org-1 "),
            ("OPENAI_PROJECT_ID", "proj-1"),
        ]);
        for row in ROWS {
            let remote = remote(&env, row);
            let mut headers = remote.headers(Dialect::of(row, &remote.base));
            headers.retain(|(name, _)| name.starts_with("openai-"));
            let wanted = match row.name {
                "openai" => vec![
                    ("openai-organization", "org-1".to_owned()),
                    ("openai-project", "proj-1".to_owned()),
                ],
                _ => Vec::new(),
            };
            assert_eq!(headers, wanted, "{}", row.name);
        }
        let env = Env::from([("OPENAI_PROJECT_ID", "a\nb: c")]);
        let remote = remote(&env, catalog::row("openai").unwrap());
        assert!(remote.account_headers.is_empty());
    }

    fn chosen(vars: &[(&str, &str)], named: Option<&str>) -> Outcome<ProviderChoice> {
        // Nothing listens on port 1, so the local server is not found whatever runs on this machine.
        let vars = vars.iter().chain([
            &("OLLAMA_URL", "http://127.0.0.1:1"),
            &("MARVIN_COPILOT_CLI", "/no/such/file"),
        ]);
        choose(
            &Env::new(vars.map(|(k, v)| ((*k).into(), (*v).into()))),
            named,
        )
    }

    #[test]
    fn the_first_that_can_work_is_taken_in_the_documented_order() {
        assert_eq!(chosen(&[], None).unwrap().name(), "offline");
        assert_eq!(
            chosen(&[("OPENAI_API_KEY", "k"), ("GROQ_API_KEY", "k")], None)
                .unwrap()
                .name(),
            "groq"
        );
        assert_eq!(
            chosen(&[("DEEPSEEK_API_KEY", "k")], None).unwrap().name(),
            "deepseek"
        );
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        assert_eq!(
            choose(&Env::from([("OLLAMA_URL", url.as_str())]), None)
                .unwrap()
                .name(),
            "ollama"
        );
    }

    #[test]
    fn what_cannot_be_a_key_is_none_or_refused() {
        assert_eq!(
            chosen(&[("GROQ_API_KEY", " \n")], None).unwrap().name(),
            "offline"
        );
        assert!(chosen(&[("OPENAI_API_KEY", "  ")], Some("openai")).is_err());
        for named in [None, Some("groq")] {
            let told = chosen(&[("GROQ_API_KEY", "k\nX: 1")], named)
                .unwrap_err()
                .one_line();
            assert!(told.contains("GROQ_API_KEY is not a valid key"), "{told}");
            assert!(!told.contains("X: 1"), "{told}");
        }
        let chosen = chosen(&[("GROQ_API_KEY", " k\n")], None).unwrap();
        assert!(matches!(chosen, ProviderChoice::Remote(remote) if remote.secrets() == ["k"]));
    }

    #[test]
    fn keys_set_for_a_provider_come_before_those_of_other_programs() {
        let name = |vars: &[(&str, &str)]| chosen(vars, None).unwrap().name();
        let google = ("GOOGLE_API_KEY", "maps");
        assert_eq!(name(&[google, ("OPENAI_API_KEY", "k")]), "openai");
        assert_eq!(name(&[google]), "gemini");
        let gateway = [
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9"),
            ("ANTHROPIC_AUTH_TOKEN", "t"),
        ];
        assert_eq!(name(&gateway), "anthropic");
        let problem = chosen(&gateway[1..], Some("claude"))
            .unwrap_err()
            .one_line();
        assert_has(&problem, &["set ANTHROPIC_BASE_URL to the gateway's"]);
    }

    #[test]
    fn a_second_name_chooses_the_provider() {
        for (word, name) in [
            ("google", "gemini"),
            ("Claude", "anthropic"),
            ("OFFLINE", "offline"),
        ] {
            let vars = [("GEMINI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")];
            assert_eq!(chosen(&vars, Some(word)).unwrap().name(), name);
        }
    }

    #[test]
    fn a_named_choice_is_never_changed_silently() {
        assert_has(
            &chosen(&[("GROQ_API_KEY", "k")], Some("openai"))
                .unwrap_err()
                .one_line(),
            &["Set OPENAI_API_KEY"],
        );
        assert_has(
            &chosen(&[], Some("opnai")).unwrap_err().one_line(),
            &["Did you mean \"openai\"?"],
        );
        assert_eq!(
            chosen(
                &[("OPENAI_COMPAT_URL", "http://127.0.0.1:9/v1")],
                Some("openai-compat")
            )
            .unwrap()
            .name(),
            "openai-compat"
        );
    }

    #[test]
    fn addresses_and_keys_come_from_the_documented_places() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".ssh")).unwrap();
        std::fs::write(home.path().join(".ssh/GROQ_API_KEY"), "from-file\n").unwrap();
        std::fs::write(home.path().join(".ssh/OPENAI_API_KEY"), " own \n").unwrap();
        let env = Env::from([
            ("HOME", home.path().to_str().unwrap()),
            ("MARVIN_URL_GROQ", "http://a/"),
            ("GROQ_MODEL", "m"),
        ]);
        let groq = catalog::row("groq").unwrap();
        assert_eq!(
            (
                remote(&env, groq).base.as_str(),
                remote(&env, groq).secrets().as_slice(),
                model(&env, groq)
            ),
            ("http://a", ["from-file".to_owned()].as_slice(), "m")
        );
        let openai = remote(&env, catalog::row("openai").unwrap());
        assert_eq!(openai.secrets(), ["own"]);
        assert_eq!(remote(&env, catalog::row("mistral").unwrap()).key, None);
        let env = Env::from([
            ("MARVIN_URL_OLLAMA", "http://a"),
            ("OLLAMA_URL", "http://b"),
        ]);
        let ollama = remote(&env, catalog::row("ollama").unwrap());
        assert_eq!(ollama.base, "http://b");
    }
}
