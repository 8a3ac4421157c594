//! What stands for `{{name}}` in a topic: rows made from the tables of the program.

use crate::agent::ending::{RUN_ENDS, RunEnd};
use crate::app::settings::flag::{Flag, FlagGroup, ValueMode};
use crate::app::settings::flags;
use crate::app::theme_choice::ThemeChoice;
use crate::app::{setup, variables};
use crate::base::env::Env;
use crate::base::text::{capitalize, plural};
use crate::disk::paths::{Paths, ProjectPaths};
use crate::llm::catalog::{self, ROWS};
use crate::llm::copilot;
use crate::llm::provider::Effort;
use crate::net::services::{self, SERVICES};
use crate::pipeline::phase::PHASES;
use crate::reply::settings;
use crate::tools::engine::owned_tool::ToolRef;
use crate::tools::engine::permission::mode::MODES;
use crate::tools::engine::permission::second_names;

use super::markup::Block;

type Rows = Vec<(String, String)>;

/// Keys or commands with what they do.
pub(crate) type DescribedTerms = Vec<(String, &'static str)>;

/// Tables of the interface and of the conversation, which the help of a topic shows and cannot reach itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HelpTables {
    /// The keys of the full screen by subject.
    pub keys: fn() -> Vec<(&'static str, DescribedTerms)>,
    /// The commands of a conversation.
    pub commands: fn() -> DescribedTerms,
}

/// The keys of the cost line.
const COST_KEYS: &[(&str, &str)] = &[
    ("session_cost", "US dollars of the run"),
    ("llm_turns", "model calls"),
    ("model_turns", "model calls by model"),
    ("model_cost", "US dollars by model"),
    ("input_tokens", "tokens of the requests, all of them"),
    (
        "cached_tokens",
        "of these, read from the provider's cache at a lower price",
    ),
    ("written_tokens", "of these, written to it"),
    ("reasoning_tokens", "of output_tokens, reasoning"),
    ("output_tokens", "tokens of the replies, all of them"),
    (
        "estimated",
        "true when any of these numbers is Marvin's estimate, because the provider did not say",
    ),
];

impl HelpTables {
    /// The blocks that `{{slot}}` stands for; `None` when there is no such table.
    pub(super) fn rows(&self, slot: &str) -> Option<Vec<Block>> {
        let (name, rest) = slot.split_once(' ').unwrap_or((slot, ""));
        let rows = match name {
            "providers" => providers(),
            "other_variables" => other_variables(),
            "keyed_services" => keyed_services(),
            "tool_groups" => tool_groups(),
            "phrases" => return Some(vec![Block::Code(phrases())]),
            "services" => services(),
            "phases" => named(PHASES.iter().map(|phase| (phase.name, phase.about))),
            "flow_settings" => flow_settings(),
            "permission_modes" => named(MODES.iter().map(|row| (row.word, row.doc))),
            "second_names" => second_names::all().map(second_name).collect(),
            "exit_statuses" => RUN_ENDS.iter().map(exit_status).collect(),
            "cost_keys" => named(COST_KEYS.iter().copied()),
            "flags" => return Some(flags()),
            "themes" => named(ThemeChoice::ALL.map(|(_, name, about)| (name, about))),
            "efforts" => return Some(vec![Block::Paragraph(efforts())]),
            "keys" => return Some(self.key_groups()),
            "commands" => owned((self.commands)()),
            "files" => files()?,
            "project_files" => project_files(),
            "variables" if rest.is_empty() => return Some(all_variables()),
            "variables" => some_variables(rest)?,
            _ => return None,
        };
        Some(vec![Block::Rows(rows)])
    }

    fn key_groups(self) -> Vec<Block> {
        let groups = (self.keys)().into_iter();
        groups
            .flat_map(|(title, rows)| [Block::Heading(title.to_owned()), Block::Rows(owned(rows))])
            .collect()
    }
}

fn named<'a>(rows: impl IntoIterator<Item = (&'a str, &'a str)>) -> Rows {
    let rows = rows.into_iter();
    rows.map(|(term, text)| (term.to_owned(), text.to_owned()))
        .collect()
}

fn owned(rows: DescribedTerms) -> Rows {
    let rows = rows.into_iter();
    rows.map(|(term, text)| (term, text.to_owned())).collect()
}

fn providers() -> Rows {
    let copilot = (
        catalog::COPILOT.to_owned(),
        format!(
            "GitHub's Copilot CLI, signed in; model {}",
            copilot::model(&Env::from([]))
        ),
    );
    let remotes = ROWS.iter().map(|row| {
        let needs = match row.key {
            Some(key) => format!("`{key}`, or the file `~/.ssh/{key}`"),
            None => format!("a server of your own ({})", row.base),
        };
        let model = match row.model {
            "default" => "the model that it has loaded".to_owned(),
            model => format!("model {model}"),
        };
        let also = match row.aliases {
            [] => String::new(),
            names => format!("; also called {}", names.join(", ")),
        };
        (row.name.to_owned(), format!("{needs}; {model}{also}"))
    });
    let offline = (
        catalog::OFFLINE.to_owned(),
        "no model and no network: a few phrases that call a tool".to_owned(),
    );
    [copilot]
        .into_iter()
        .chain(remotes)
        .chain([offline])
        .collect()
}

/// Variables of other programs that count too.
fn other_variables() -> Rows {
    let others: Vec<&str> = ROWS
        .iter()
        .flat_map(|row| {
            let urls = row.other_urls.iter().map(|other| other.variable);
            let keys = row.other_keys.iter().copied();
            let accounts = row
                .account_headers
                .iter()
                .flat_map(|header| header.variables);
            let accounts = accounts.map(|variable| variable.name);
            keys.chain(row.token).chain(urls).chain(accounts)
        })
        .collect();
    let rows = variables::all().filter(|row| others.contains(&row.name.as_str()));
    rows.map(|row| (row.name, row.doc)).collect()
}

fn tool_groups() -> Rows {
    let registry = setup::registry();
    let mut groups: Rows = Vec::new();
    for tool in registry.all() {
        match groups.iter_mut().find(|(group, _)| group == tool.module()) {
            Some((_, tools)) => {
                tools.push_str(", ");
                tools.push_str(tool.name());
            }
            None => groups.push((tool.module().to_owned(), tool.name().to_owned())),
        }
    }
    groups
}

/// For each tool one of the phrases that call it without a model, as it is typed.
fn phrases() -> Vec<String> {
    let phrases = crate::tools::all().filter_map(|tool| tool.phrases.first());
    let shown = phrases.map(|phrase| {
        // Fixed values of arguments are no part of what is typed.
        let (mut words, mut rest) = (String::new(), *phrase);
        while let Some((before, after)) = rest.split_once('{') {
            let Some((slot, after)) = after.split_once('}') else {
                break;
            };
            words.push_str(before);
            if !slot.contains('=') {
                words.push_str(&slot.to_uppercase());
            }
            rest = after;
        }
        words.push_str(rest);
        words.trim().to_owned()
    });
    let mut lines: Vec<String> = Vec::new();
    for phrase in shown {
        match lines.last_mut() {
            Some(line) if line.chars().count() < 30 && phrase.chars().count() < 36 => {
                *line = format!("{line:<36}{phrase}");
            }
            _ => lines.push(phrase),
        }
    }
    lines
}

/// Tools that use the service `id`.
fn tools_of(id: &str, tools: &[ToolRef]) -> Vec<String> {
    let uses = tools.iter().filter(|tool| {
        let rules = tool.rules();
        rules.service == Some(id) || rules.asks.iter().any(|used| used.id == id)
    });
    uses.map(|tool| tool.name().to_owned()).collect()
}

fn services() -> Rows {
    let row = |service: &&services::Service| {
        let base = service.base;
        (service.id.to_owned(), format!("{}; {base}", service.about))
    };
    SERVICES.iter().map(row).collect()
}

fn keyed_services() -> Rows {
    let registry = setup::registry();
    let tools = registry.all();
    let mut rows: Rows = Vec::new();
    for service in SERVICES {
        let Some(key) = service.key else { continue };
        if rows.iter().any(|(known, _)| known == key) {
            continue;
        }
        let used = tools_of(service.id, &tools);
        let text = match used.as_slice() {
            [] => format!("{}, {}", service.name, service.about),
            [.., last] if used.len() > 4 => {
                let count = plural(used.len(), "tool");
                format!(
                    "{}, {}: {count}, {last} among them",
                    service.name, service.about
                )
            }
            used => format!("{}, {}: {}", service.name, service.about, used.join(", ")),
        };
        rows.push((key.to_owned(), text));
    }
    rows
}

fn flow_settings() -> Rows {
    let rows = settings::rows::ROWS.iter();
    rows.map(|row| (row.key.to_owned(), format!("{}: {}", row.doc, row.allowed)))
        .collect()
}

/// An end of a run: what happened, and how its error line can be told from others.
fn exit_status(end: &RunEnd) -> (String, String) {
    let when = capitalize(end.when);
    let text = match end.words {
        "" => format!("{when}."),
        words => format!("{when}: \"{words}\"."),
    };
    (end.status.to_string(), text)
}

/// A name from elsewhere, and the tools that it means.
fn second_name(name: &str) -> (String, String) {
    let tools = second_names::meant(name).unwrap_or_default();
    (name.to_owned(), tools.join(", "))
}

/// A flag as typed: `-h, --help`, `--prompt TEXT`.
pub(crate) fn typed(flag: &Flag) -> String {
    let mut out = flag
        .short
        .map_or_else(String::new, |short| format!("-{short}, "));
    out.push_str("--");
    out.push_str(flag.long);
    match flag.takes {
        ValueMode::Nothing => {}
        ValueMode::Value(value) | ValueMode::Any(value) => out.push_str(&format!(" {value}")),
        ValueMode::Maybe(value) => out.push_str(&format!(" [{value}]")),
    }
    out
}

fn flags() -> Vec<Block> {
    let groups = FlagGroup::ALL.into_iter();
    groups
        .flat_map(|group| {
            let flags = flags::all().filter(|flag| !flag.hidden && flag.group == group);
            let rows = flags.map(|flag| (typed(flag), flag.doc.to_owned()));
            [
                Block::Heading(group.title().to_owned()),
                Block::Rows(rows.collect()),
            ]
        })
        .collect()
}

fn efforts() -> String {
    let words = Effort::ALL.map(Effort::word);
    format!("Levels: `{}`.", words.join("`, `"))
}

/// The user's files below a home folder that is shown as `~`.
fn files() -> Option<Rows> {
    let paths = Paths::new(&Env::from([("HOME", "/~")]));
    let rows = paths.described("NAME").ok()?.into_iter();
    Some(rows.map(|(path, text)| shown(&path, text)).collect())
}

fn project_files() -> Rows {
    let project = ProjectPaths::new(std::path::Path::new("PROJECT"));
    let rows = project.described().into_iter();
    rows.map(|(path, text)| shown(&path, text)).collect()
}

fn shown(path: &std::path::Path, text: &str) -> (String, String) {
    let path = path.display().to_string().replacen("/~", "~", 1);
    (path, text.to_owned())
}

/// The variables that `words` name, each by its name or by how it begins.
fn some_variables(words: &str) -> Option<Rows> {
    let all: Vec<variables::Variable> = variables::all().collect();
    let mut rows: Rows = Vec::new();
    for word in words.split_whitespace() {
        let fits = |name: &str| name == word || (word.ends_with('_') && name.starts_with(word));
        let found: Vec<_> = all.iter().filter(|row| fits(&row.name)).collect();
        if found.is_empty() {
            return None;
        }
        let found = found.into_iter();
        rows.extend(found.map(|row| (row.name.clone(), row.doc.clone())));
    }
    Some(rows)
}

/// All variables by subject.
fn all_variables() -> Vec<Block> {
    let titles = ["Marvin", "Keys", "Providers", "Addresses", "The reply flow"];
    let mut groups: [Rows; 5] = Default::default();
    for row in variables::all() {
        let is_of_provider = || {
            let suffix = ["MODEL", "URL", "WIRE"];
            let mut names = ROWS
                .iter()
                .flat_map(|provider| suffix.map(|suffix| catalog::variable(provider.name, suffix)));
            let is_other = |provider: &catalog::ProviderSpec| {
                let mut urls = provider.other_urls.iter();
                urls.any(|other| other.variable == row.name)
            };
            names.any(|name| name == row.name) || ROWS.iter().any(is_other)
        };
        let [marvin, keys, providers, addresses, flow] = &mut groups;
        let group = if row.secret {
            keys
        } else if row.name.starts_with(settings::rows::PREFIX) {
            flow
        } else if row.name.starts_with("MARVIN_URL_") {
            addresses
        } else if is_of_provider() {
            providers
        } else {
            marvin
        };
        group.push((row.name, row.doc));
    }
    titles
        .into_iter()
        .zip(groups)
        .flat_map(|(title, rows)| [Block::Heading(title.to_owned()), Block::Rows(rows)])
        .collect()
}
