//! The output of `/model`: what answers, and what could.

use std::fmt::Write as _;

use crate::app::choice::{ChoiceKind, ChoiceList, ChoiceRow, mark};
use crate::app::model_lists::ModelLists;
use crate::app::session::model_env::model_env;
use crate::base::env::Env;
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::one_line;
use crate::llm::catalog::ROWS;
use crate::llm::copilot::{self, availability};
use crate::llm::{choose, offline};
use crate::net::services::shown_address;
use crate::tools::engine::context::SessionContext;

/// A provider with the model that would answer there.
struct ProviderLine<'a> {
    name: &'static str,
    model: &'a str,
    state: String,
    standing: Standing,
}

/// In this order the models come that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Current,
    Ready,
    /// Nobody has looked whether its server runs.
    Local,
    Offline,
    /// A key or a program is missing.
    Missing,
}

/// The row that leads to other ways to a model.
pub(super) const SET_UP: &str = "set-up";

fn providers(env: &Env) -> Vec<ProviderLine<'_>> {
    let (state, standing) = match availability::is_installed(env) {
        true => ("its CLI is installed", Standing::Ready),
        false => ("npm install -g @github/copilot", Standing::Missing),
    };
    let copilot = ProviderLine {
        name: copilot::NAME,
        model: copilot::model(env),
        state: state.to_owned(),
        standing,
    };
    let remotes = ROWS.iter().map(|row| {
        let remote = choose::remote(env, row);
        let (state, standing) = match row.key {
            Some(_) if remote.key.is_some() => ("ready".to_owned(), Standing::Ready),
            // The user's own server may need no key.
            Some(_) if remote.has_own_base => (
                format!("at {}", shown_address(&remote.base)),
                Standing::Ready,
            ),
            Some(variable) => (format!("set {variable}"), Standing::Missing),
            None => (
                format!("at {}", shown_address(&remote.base)),
                Standing::Local,
            ),
        };
        ProviderLine {
            name: row.name,
            model: choose::model(env, row),
            state,
            standing,
        }
    });
    let offline = ProviderLine {
        name: offline::NAME,
        model: "no model",
        state: "ready".to_owned(),
        standing: Standing::Offline,
    };
    [copilot]
        .into_iter()
        .chain(remotes)
        .chain([offline])
        .collect()
}

/// The models that are known without asking anybody: of the provider that answers, those that completion has learnt, and what would answer elsewhere.
/// `words` say what answers now, which is `current`.
pub(super) fn models(
    context: &SessionContext,
    words: &str,
    current: Option<(&str, &str)>,
) -> ChoiceList {
    let env = model_env(context);
    let mut providers = providers(&env);
    let mut listing = format!("{words}\n\n");
    for line in &providers {
        let _ = writeln!(
            listing,
            "{:<14} {:<28} {}",
            line.name, line.model, line.state
        );
    }
    listing.push_str(
        "\n/model PROVIDER, /model MODEL or /model PROVIDER MODEL changes it for this session.\n",
    );
    let widest = providers.iter().map(|line| line.name.len()).max();
    let widest = widest.unwrap_or_default();
    for line in &mut providers {
        if current.is_some_and(|(name, _)| name == line.name) {
            line.standing = Standing::Current;
        }
    }
    // The sort is stable: the rest stays in the order of the table.
    providers.shared_sort_by_key(|line| line.standing);
    let lists = context.modules.get::<ModelLists>();
    let mut rows = Vec::new();
    let mut hint = String::new();
    for line in &providers {
        let used = current.filter(|(name, _)| *name == line.name);
        let row = |model: &str, note: &str, is_current: bool| ChoiceRow {
            id: match line.name == offline::NAME {
                true => line.name.to_owned(),
                false => format!("{} {model}", line.name),
            },
            lead: format!("{} {:<widest$}", mark(is_current), line.name),
            title: one_line(model),
            note: one_line(note),
            is_current,
            more_words: line.name.to_owned(),
            ..ChoiceRow::default()
        };
        if line.name == offline::NAME {
            rows.push(row(line.model, "", used.is_some()));
            continue;
        }
        let listed = lists.known(line.name);
        if used.is_some() && listed.is_empty() {
            hint = format!("/model and Tab ask {} for its models", line.name);
        }
        let used = used.map(|(_, model)| model);
        rows.extend(used.map(|model| row(model, "in use", true)));
        let of_default = match line.standing {
            Standing::Current | Standing::Ready => "default",
            _ => &line.state,
        };
        if used != Some(line.model) {
            rows.push(row(line.model, of_default, false));
        }
        let others = listed.iter().map(String::as_str);
        let others = others.filter(|name| Some(*name) != used && *name != line.model);
        let others = others.filter(|name| is_for_one_line(name));
        rows.extend(others.map(|name| row(name, "", false)));
    }
    rows.push(ChoiceRow {
        id: SET_UP.to_owned(),
        lead: format!("{} {:<widest$}", mark(false), "another"),
        title: "Sign in, enter a key, or a server of your own".to_owned(),
        more_words: "set up key another".to_owned(),
        ..ChoiceRow::default()
    });
    ChoiceList {
        kind: ChoiceKind::Models,
        rows,
        hint,
        listing,
    }
}

/// Whether a name from a provider is one that can be shown as it is.
fn is_for_one_line(name: &str) -> bool {
    !name.trim().is_empty() && !name.chars().any(char::is_control)
}
