//! What can be chosen: servers that were found, and the other ways to a model.

use std::thread;
use std::time::Duration;

use crate::app::choice::{ChoiceKind, ChoiceList, ChoiceRow};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::one_line;
use crate::llm::catalog::{ProviderSpec, ROWS};
use crate::llm::choose::{self, RemoteTarget};
use crate::llm::copilot::availability;
use crate::llm::models::live::listed_models;
use crate::llm::models::names::is_for_chat;

/// Rows of the list that are no server.
pub(super) const COPILOT: &str = "copilot";
pub(super) const KEY: &str = "key";
pub(super) const ADDRESS: &str = "address";
pub(super) const WITHOUT: &str = "without";

/// How long a server of this machine may take for its list of models.
const LIST_TIMEOUT: Duration = Duration::from_secs(2);
/// Models of one server that are offered; the others can be chosen later.
const MAX_MODELS: usize = 6;
/// Providers with keys that most people have, first in their list.
const FIRST_KEYS: [&str; 4] = ["anthropic", "openai", "gemini", "groq"];

/// Looks for servers on this machine, and lists them with everything else. Who has a model is not asked whether to go without.
pub(super) fn list(env: &Env, has_model: bool, stop: &Cancel) -> ChoiceList {
    let mut rows = found(env, stop);
    let (title, note) = match availability::is_installed(env) {
        true => ("Sign in to GitHub Copilot", "here in this terminal"),
        false => (
            "Sign in to GitHub Copilot",
            "needs its CLI: npm install -g @github/copilot",
        ),
    };
    rows.push(row(COPILOT, title, note));
    let providers = "Anthropic, OpenAI, Gemini, Groq and others";
    rows.push(row(KEY, "Enter a key", providers));
    let compatible = "any OpenAI-compatible address";
    rows.push(row(ADDRESS, "A server of your own", compatible));
    if has_model {
        return choice_list(ChoiceKind::SetUp, rows);
    }
    let without = "files, git, notes, units and more";
    rows.push(row(WITHOUT, "Work without a language model", without));
    ChoiceList {
        hint: "a brain the size of a planet, and no language model".to_owned(),
        ..choice_list(ChoiceKind::SetUp, rows)
    }
}

/// The providers whose key can be entered.
pub(super) fn key_providers(env: &Env) -> ChoiceList {
    let place = |row: &&ProviderSpec| {
        let mut first = FIRST_KEYS.iter();
        first
            .position(|name| *name == row.name)
            .unwrap_or(FIRST_KEYS.len())
    };
    let keyed = ROWS
        .iter()
        .filter(|row| row.key.is_some() && row.name != super::keep::OWN_SERVER);
    let mut keyed: Vec<&ProviderSpec> = keyed.collect();
    // The sort is stable: the rest stays in the order of the table.
    keyed.shared_sort_by_key(place);
    let rows = keyed
        .into_iter()
        .map(|spec| row(spec.name, spec.name, choose::model(env, spec)));
    choice_list(ChoiceKind::KeyProviders, rows.collect())
}

/// The models of the user's own server.
pub(super) fn server_models(models: &[String]) -> ChoiceList {
    let rows = models.iter().map(|model| row(model, model, ""));
    choice_list(ChoiceKind::ServerModels, rows.collect())
}

fn row(id: &str, title: &str, note: &str) -> ChoiceRow {
    ChoiceRow {
        id: id.to_owned(),
        title: one_line(title),
        note: one_line(note),
        more_words: id.to_owned(),
        ..ChoiceRow::default()
    }
}

fn choice_list(kind: ChoiceKind, rows: Vec<ChoiceRow>) -> ChoiceList {
    let numbered = rows.iter().enumerate().map(|(at, row)| {
        let line = format!("{:>3}  {:<34}  {}", at + 1, row.title, row.note);
        format!("{}\n", line.trim_end())
    });
    ChoiceList {
        kind,
        hint: String::new(),
        listing: numbered.collect(),
        rows,
    }
}

/// The models of servers on this machine that want no key.
fn found(env: &Env, stop: &Cancel) -> Vec<ChoiceRow> {
    let local = ROWS.iter().filter(|row| row.local);
    let remotes: Vec<RemoteTarget> = local.map(|row| choose::remote(env, row)).collect();
    thread::scope(|scope| {
        let asked: Vec<_> = remotes
            .iter()
            .filter(|remote| crate::net::service::is_on_this_machine(&remote.base))
            .map(|remote| scope.spawn(|| models_of(remote, env, stop)))
            .collect();
        let answers = asked.into_iter().filter_map(|asked| asked.join().ok());
        answers.flatten().collect()
    })
}

fn models_of(remote: &RemoteTarget, env: &Env, stop: &Cancel) -> Vec<ChoiceRow> {
    if !choose::answers(remote) {
        return Vec::new();
    }
    // Another program may listen there: it has no such list.
    let listed = listed_models(remote, env, LIST_TIMEOUT, stop).unwrap_or_default();
    let mut names: Vec<String> = listed.into_iter().map(|model| model.id).collect();
    names.retain(|name| is_for_chat(name) && !name.chars().any(char::is_control));
    let usual = choose::model(env, remote.row);
    names.shared_sort_by_key(|name| name != usual);
    let server = match remote.row.name {
        "ollama" => "Ollama",
        "lmstudio" => "LM Studio",
        name => name,
    };
    let offered = names.iter().take(MAX_MODELS).map(|model| {
        let title = format!("{server} on this machine: {model}");
        row(&format!("{} {model}", remote.row.name), &title, "found")
    });
    offered.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_anything_there_are_four_ways() {
        let env = Env::from([
            ("OLLAMA_URL", "http://127.0.0.1:1"),
            ("LMSTUDIO_URL", "http://127.0.0.1:1"),
            ("LLAMA_SERVER_URL", "http://127.0.0.1:1"),
            ("MARVIN_COPILOT_CLI", "/no/such/file"),
        ]);
        let list = list(&env, false, &Cancel::new());
        let ids: Vec<&str> = list.rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids, [COPILOT, KEY, ADDRESS, WITHOUT]);
        assert!(
            list.listing.starts_with("  1  Sign in to GitHub Copilot"),
            "{}",
            list.listing
        );
    }

    #[test]
    fn keys_of_well_known_providers_come_first_and_local_ones_have_none() {
        let list = key_providers(&Env::default());
        let ids: Vec<&str> = list.rows.iter().map(|row| row.id.as_str()).collect();
        assert!(ids.starts_with(&FIRST_KEYS), "{ids:?}");
        assert!(ids.contains(&"mistral"));
        for other in ["ollama", "openai-compat", "llama-server"] {
            assert!(!ids.contains(&other), "{ids:?}");
        }
    }
}
