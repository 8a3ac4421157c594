//! Which provider answers, at which address, with which key and model.

use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::catalog::{self, ProviderSpec, ROWS, Wire};
use super::{copilot, offline};
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text;
use crate::net::keys;
use crate::net::service;
use crate::net::services;
use crate::net::services::without_slash;
use crate::net::transport::port_of;

/// How long a local server may take to answer when no provider was named.
const PROBE: Duration = Duration::from_millis(100);

/// An HTTP provider, configured.
#[derive(Debug, Clone)]
pub(crate) struct RemoteTarget {
    /// Its row.
    pub row: &'static ProviderSpec,
    /// Effective base address.
    pub base: String,
    /// Key, when one is set.
    pub key: Option<String>,
    /// The wire that the user named for it.
    pub wire: Option<Wire>,
}

impl RemoteTarget {
    /// Whether what is said to it stays on this machine: a provider of local models, or a server here that wants no key. A key is that of a service, which
    /// an address here only leads to.
    pub(crate) fn is_on_this_machine(&self) -> bool {
        self.row.local || (self.key.is_none() && service::is_on_this_machine(&self.base))
    }
}

/// The chosen provider.
#[derive(Debug, Clone)]
pub(crate) enum ProviderChoice {
    /// A provider of the table.
    Remote(RemoteTarget),
    /// The user's Copilot CLI.
    Copilot,
    /// The embedded one.
    Offline,
}

impl ProviderChoice {
    /// The provider's name.
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
    }
    usable(chosen)
}

fn by_name(env: &Env, name: &str) -> Outcome<ProviderChoice> {
    if name == offline::NAME {
        return Ok(ProviderChoice::Offline);
    }
    if name == copilot::NAME {
        // Whether it can answer shows with the first message, which also says what is missing.
        return Ok(ProviderChoice::Copilot);
    }
    let Some(row) = catalog::row(name) else {
        let mut problem = Problem::input(format!(
            "There is no provider \"{}\".",
            text::clip(&text::escape_controls(name), 40)
        ));
        if let Some(hint) = text::did_you_mean(name, names()) {
            problem = problem.next(text::capitalize(&hint));
        }
        return Err(problem.next(format!(
            "Providers: {}.",
            names().collect::<Vec<_>>().join(", ")
        )));
    };
    let remote = remote(env, row);
    match row.key {
        // The user's own server may need no key.
        Some(variable) if remote.key.is_none() && remote.base == row.base => {
            Err(Problem::new(ProblemKind::Auth, format!("{name} needs a key."))
                .next(format!("Set {variable}, or choose another provider: --provider NAME (marvin doctor lists them)."))
            )
        }
        _ => Ok(ProviderChoice::Remote(remote)),
    }
}

fn first_that_works(env: &Env) -> ProviderChoice {
    if copilot::availability::is_ready(env) {
        return ProviderChoice::Copilot;
    }
    let keyed = ROWS
        .iter()
        .filter(|row| row.key.is_some())
        .map(|row| remote(env, row))
        .find(|remote| remote.key.is_some());
    let ollama = || {
        catalog::row("ollama")
            .map(|row| remote(env, row))
            .filter(answers)
    };
    keyed
        .or_else(ollama)
        .map_or(ProviderChoice::Offline, ProviderChoice::Remote)
}

/// Refuses a key that cannot be one: no request could carry it, and the refusal must not show it.
fn usable(chosen: ProviderChoice) -> Outcome<ProviderChoice> {
    let odd = |key: &String| !key.bytes().all(|byte| byte.is_ascii_graphic());
    match &chosen {
        ProviderChoice::Remote(remote) if remote.key.as_ref().is_some_and(odd) => {
            let variable = remote.row.key.unwrap_or("the key");
            let what = format!(
                "The value of {variable} is not a valid key: it contains white space or characters that no key has."
            );
            Err(Problem::new(ProblemKind::Auth, what)
                .next(format!("Set {variable} to the key alone.")))
        }
        _ => Ok(chosen),
    }
}

/// The row with its effective address and key.
pub(crate) fn remote(env: &Env, row: &'static ProviderSpec) -> RemoteTarget {
    RemoteTarget {
        row,
        base: base(env, row),
        key: key(env, row),
        wire: wire(env, row).ok().flatten(),
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

/// The base address: `<NAME>_URL`, else `MARVIN_URL_<ID>`, else the row's.
pub(crate) fn base(env: &Env, row: &ProviderSpec) -> String {
    let own = catalog::variable(row.name, "URL");
    let general = services::variable(row.name);
    without_slash(
        env.get(&own)
            .or_else(|| env.get(&general))
            .unwrap_or(row.base),
    )
    .to_owned()
}

/// The model: `<NAME>_MODEL`, else the row's.
pub(crate) fn model<'a>(env: &'a Env, row: &'a ProviderSpec) -> &'a str {
    env.get(&catalog::variable(row.name, "MODEL"))
        .unwrap_or(row.model)
}

/// The key: its variable, then for some a file of that name under `~/.ssh/`.
pub(crate) fn key(env: &Env, row: &ProviderSpec) -> Option<String> {
    let variable = row.key?;
    let set = env.get(variable).map(|key| key.trim().to_owned());
    set.filter(|key| !key.is_empty())
        .or_else(|| keys::in_file(env, variable).filter(|_| row.key_file))
}

/// True when something listens at the provider's address.
pub(crate) fn answers(remote: &RemoteTarget) -> bool {
    let Ok(uri) = remote.base.parse::<ureq::http::Uri>() else {
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
        assert!(
            matches!(chosen, ProviderChoice::Remote(remote) if remote.key.as_deref() == Some("k"))
        );
    }

    #[test]
    fn a_named_choice_is_never_changed_silently() {
        assert!(
            chosen(&[("GROQ_API_KEY", "k")], Some("openai"))
                .unwrap_err()
                .one_line()
                .contains("Set OPENAI_API_KEY")
        );
        assert!(
            chosen(&[], Some("opnai"))
                .unwrap_err()
                .one_line()
                .contains("Did you mean \"openai\"?")
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
        std::fs::write(home.path().join(".ssh/OPENAI_API_KEY"), "never\n").unwrap();
        let env = Env::from([
            ("HOME", home.path().to_str().unwrap()),
            ("MARVIN_URL_GROQ", "http://a/"),
            ("GROQ_MODEL", "m"),
        ]);
        let groq = catalog::row("groq").unwrap();
        assert_eq!(
            (
                base(&env, groq).as_str(),
                key(&env, groq).as_deref(),
                model(&env, groq)
            ),
            ("http://a", Some("from-file"), "m")
        );
        assert_eq!(key(&env, catalog::row("openai").unwrap()), None);
        let env = Env::from([
            ("MARVIN_URL_OLLAMA", "http://a"),
            ("OLLAMA_URL", "http://b"),
        ]);
        assert_eq!(base(&env, catalog::row("ollama").unwrap()), "http://b");
    }
}
