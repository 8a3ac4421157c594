//! A configured server that a command uses: found, reached, and ended with the command.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::usage;
use crate::app::settings::Settings;
use crate::app::stream::say;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::cli::tool::stop_on_signals;
use crate::disk::paths::Paths;
use crate::mcp::auth::signed_in::SignedIn;
use crate::mcp::client::answers::ScriptedAnswers;
use crate::mcp::client::connection::{
    Connection, Freshness, List, Progress, ServerEvent, ServerEvents, ServerFacts, Wait,
};
use crate::mcp::client::credentials::Credentials;
use crate::mcp::client::dial::{ClientHost, dial, log_level};
use crate::mcp::client::listing;
use crate::mcp::client::questions::Questions;
use crate::mcp::config::entry::ServerEntry;
use crate::mcp::session::cache::{self, KnownServers, Snapshot};

/// How long lists and reads may take.
const LIST_LIMIT: Duration = Duration::from_secs(30);

/// The words after a command's name.
#[derive(Default)]
pub(super) struct ServerArgs {
    /// Those that are neither flags nor `key=value` after the first `most` ones.
    pub names: Vec<String>,
    pub pairs: Vec<String>,
    pub json: Option<String>,
    pub is_json: bool,
    pub is_raw: bool,
    pub answers: Option<Map<String, Value>>,
    pub signs_in: bool,
    pub timeout: Option<Duration>,
    /// The folder for what is no text.
    pub save: Option<PathBuf>,
}

/// The flags that commands with a server have.
const FLAGS: [&str; 6] = [
    "--json",
    "--raw",
    "--answers",
    "--login",
    "--timeout",
    "--save",
];

impl ServerArgs {
    /// Reads the words of `command`, which takes so many names and then, perhaps, pairs. `--json` has a value where pairs may follow.
    pub(super) fn read(
        command: &str,
        words: &[String],
        names: usize,
        flags: &[&str],
    ) -> Outcome<Self> {
        let mut args = Self::default();
        let has_pairs = flags.contains(&"k=v");
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (flag, inline) = match word.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
                _ => (word.as_str(), None),
            };
            let mut value = || {
                let value = inline.or_else(|| words.next().map(String::as_str));
                value.ok_or_else(|| usage(command, &format!("{flag} needs a value.")))
            };
            match flag {
                "--json" if has_pairs && flags.contains(&flag) => {
                    args.json = Some(value()?.to_owned());
                }
                "--json" if flags.contains(&flag) => args.is_json = true,
                "--raw" if flags.contains(&flag) => args.is_raw = true,
                "--login" => args.signs_in = true,
                "--answers" if flags.contains(&flag) => {
                    args.answers = Some(object(flag, value()?)?);
                }
                "--save" if flags.contains(&flag) => args.save = Some(PathBuf::from(value()?)),
                "--timeout" if flags.contains(&flag) => args.timeout = Some(seconds(value()?)?),
                flag if flag.starts_with("--") => {
                    let known = FLAGS
                        .iter()
                        .copied()
                        .filter(|own| flags.contains(own) || *own == "--login");
                    let known: Vec<&str> = known.collect();
                    return Err(super::unknown_flag(command, flag, &known));
                }
                _ if args.names.len() < names => args.names.push(word.clone()),
                _ if has_pairs => args.pairs.push(word.clone()),
                _ => return Err(usage(command, "There are too many words.")),
            }
        }
        match args.names.len() == names {
            true => Ok(args),
            false => Err(usage(command, "A name is missing.")),
        }
    }

    pub(super) fn name(&self, at: usize) -> &str {
        self.names.get(at).map(String::as_str).unwrap_or_default()
    }
}

pub(super) fn object(flag: &str, text: &str) -> Outcome<Map<String, Value>> {
    serde_json::from_str(text).map_err(|error| {
        Problem::input(format!("{flag} needs a JSON object: {error}."))
            .next(format!("For example: {flag} '{{\"name\": \"Ada\"}}'"))
    })
}

fn seconds(text: &str) -> Outcome<Duration> {
    let seconds = text.parse::<f64>().ok();
    let seconds = seconds.filter(|seconds| *seconds > 0.0);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| Problem::input("--timeout needs a number of seconds above 0."))
}

/// The server, until the command ends.
pub(super) struct UsedServer {
    pub entry: ServerEntry,
    pub connection: Arc<dyn Connection>,
    pub stop: Cancel,
    sign_in: Option<Arc<SignedIn>>,
    paths: Paths,
    signal: Arc<AtomicU8>,
}

impl Drop for UsedServer {
    fn drop(&mut self) {
        self.connection.close();
    }
}

impl UsedServer {
    /// Finds the server that the first name is of.
    ///
    /// # Errors
    /// There is none, or its entry is wrong.
    pub(super) fn find(args: &ServerArgs, settings: &Settings) -> Outcome<Self> {
        let (entry, sign_in) = super::entry::find(args.name(0), settings, args.signs_in)?;
        let stop = Cancel::new();
        let signal = stop_on_signals(&stop);
        let answers = args.answers.clone();
        let answers = answers.map(|values| ScriptedAnswers { values, tell: say });
        let paths = Paths::new(&settings.env);
        let host = ClientHost {
            env: settings.env.clone(),
            working_dir: super::entry::working_dir(settings),
            supervisor: settings.process.executable.clone(),
            questions: answers.map(|answers| Arc::new(answers) as Arc<dyn Questions>),
            credentials: (sign_in.clone()).map(|own| own as Arc<dyn Credentials>),
            events: Some(Arc::new(Stderr)),
            spoken: known(&entry, sign_in.as_deref(), &paths).and_then(|known| known.spoken),
        };
        if let Err(problem) = log_level(&settings.env) {
            say(&format!("Warning: {}", problem.one_line()));
        }
        let connection = dial(&entry, host);
        Ok(Self {
            entry,
            connection,
            stop,
            sign_in,
            paths,
            signal,
        })
    }

    /// Opens the connection.
    pub(super) fn open(&self) -> Outcome<ServerFacts> {
        let wait = Wait::new(self.entry.limits.startup, &self.stop).set_by("startupTimeout");
        self.connection
            .open(wait)
            .map_err(|problem| self.told(problem))
    }

    /// A whole list; what is missing of it is said.
    pub(super) fn list(&self, list: List) -> Outcome<Vec<Value>> {
        let until = Instant::now() + LIST_LIMIT;
        let listed = listing::all(&*self.connection, list, until, &self.stop)
            .map_err(|problem| self.told(problem))?;
        if let Some(missing) = listed.missing {
            say(&format!(
                "Not all of {} is there: {missing}.",
                list.method()
            ));
        }
        Ok(listed.items)
    }

    /// Keeps what the server offers and how it was spoken to: the next command begins with that, and conversations offer its tools. Without `prompts` those
    /// that are known stay.
    pub(super) fn remember(&self, facts: &ServerFacts, tools: &[Value], prompts: Option<&[Value]>) {
        let known = known(&self.entry, self.sign_in.as_deref(), &self.paths);
        let prompts = match (prompts, &known) {
            (Some(prompts), _) => prompts.to_vec(),
            (None, Some(known)) => known.prompts.clone(),
            (None, None) if facts.has(List::Prompts.capability()) => {
                let until = Instant::now() + LIST_LIMIT;
                match listing::all(&*self.connection, List::Prompts, until, &self.stop) {
                    Ok(listed) => listed.items,
                    Err(_) => return,
                }
            }
            (None, None) => Vec::new(),
        };
        let snapshot = Snapshot::of(facts, tools.to_vec(), prompts, Freshness::default());
        if known.is_some_and(|known| snapshot.only_prolongs(&known, i64::MAX)) {
            return;
        }
        let account = self.sign_in.as_ref().and_then(|own| own.account());
        let key = cache::key(&self.entry);
        if let Err(problem) = cache::write(&self.paths, &key, account.as_deref(), &snapshot) {
            say(&problem.one_line());
        }
    }

    /// How long a read may take.
    pub(super) fn read_wait(&self) -> Wait<'_> {
        Wait::new(LIST_LIMIT, &self.stop)
    }

    /// Whether progress is worth telling: somebody watches.
    pub(super) fn tells_progress() -> bool {
        std::io::stderr().is_terminal()
    }

    /// Keeps what the server offers if nothing is known of it, or it is spoken to in another way by now. A command that needs no list does not fail with it.
    pub(super) fn remember_if_new(&self, facts: &ServerFacts) {
        let known = known(&self.entry, self.sign_in.as_deref(), &self.paths);
        let spoken = known.and_then(|known| known.spoken);
        if spoken != Some(facts.spoken())
            && let Ok(tools) = self.list(List::Tools)
        {
            self.remember(facts, &tools, None);
        }
    }

    /// The status of a command that was not stopped by a signal, or that of the signal.
    pub(super) fn status(&self, status: u8) -> u8 {
        match self.signal.load(Ordering::SeqCst) {
            0 => status,
            signal => 128 + signal,
        }
    }

    /// The failure, with what the server wrote last; after a signal nothing more is said.
    pub(super) fn told(&self, problem: Problem) -> Problem {
        let lines = self.connection.last_words(10);
        match problem.facts.is_none() && !lines.is_empty() && !problem.is_cancelled() {
            true => problem.facts(lines.join("\n")),
            false => problem,
        }
    }

    /// The status after a failure.
    pub(super) fn failed(&self, problem: Problem) -> Outcome<u8> {
        match self.signal.load(Ordering::SeqCst) {
            0 => Err(self.told(problem)),
            signal => Ok(128 + signal),
        }
    }
}

/// What is remembered of a server.
fn known(entry: &ServerEntry, sign_in: Option<&SignedIn>, paths: &Paths) -> Option<Snapshot> {
    let account = sign_in.and_then(SignedIn::account);
    KnownServers::read(paths).find(&cache::key(entry), account.as_deref())
}

/// Says how far a call is.
pub(super) fn say_progress(progress: &Progress) {
    say(&progress.words());
}

/// What a server tells meanwhile, for the person.
struct Stderr;

impl ServerEvents for Stderr {
    fn happened(&self, event: ServerEvent) {
        match event {
            ServerEvent::Notice(words) => say(&words),
            ServerEvent::Log { level, text }
                if !matches!(level.as_str(), "debug" | "info" | "notice") =>
            {
                say(&format!("{level}: {text}"));
            }
            _ => {}
        }
    }
}
