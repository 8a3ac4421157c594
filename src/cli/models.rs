//! `marvin models`: what a provider serves, by its own list, with window, price and end.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use jiff::civil::Date;

use super::out::{print, print_words, say_words};
use super::tool::stop_on_signals;
use crate::app::model_report::{ListSource, ModelReport, ReportedModel, copilot_report, report};
use crate::app::settings::Settings;
use crate::app::setup;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{thousands, trim_decimals};
use crate::llm::catalog;
use crate::llm::choose::{self, ProviderChoice};
use crate::llm::copilot;
use crate::llm::models::TokenPrice;
use crate::llm::models::live::LIST_TIMEOUT;

/// `marvin models [PROVIDER] [--json]`.
pub(super) fn run(words: &[String], settings: &Settings) -> Outcome<u8> {
    let (json, names): (Vec<_>, Vec<_>) = words.iter().partition(|word| *word == "--json");
    let named = match names.as_slice() {
        [] => None,
        [name] if !name.starts_with('-') => Some(name.as_str()),
        _ => {
            return Err(Problem::input(
                "marvin models takes the name of one provider, and --json.",
            ));
        }
    };
    let provider = named.or(settings.model.choice.provider.as_deref());
    let row = named.and_then(|name| catalog::row(catalog::provider_named(name)?));
    // Without a key the table tells what is known.
    let unasked = row.map(|row| choose::remote(&settings.env, row));
    let chosen = match unasked.filter(|remote| remote.lacks_key()) {
        Some(remote) => ProviderChoice::Remote(remote),
        None => choose::choose(&settings.env, provider)?,
    };
    let clock = Clock::new(&settings.env);
    let mut warn = |text: String| say_words(&format!("Warning: {text}\n"));
    let registry = setup::model_registry(settings, &clock, &mut warn);
    let today = clock.now().date();
    let stop = Cancel::new();
    let signal = stop_on_signals(&stop);
    let (env, limit) = (&settings.env, LIST_TIMEOUT);
    let found = match &chosen {
        ProviderChoice::Remote(remote) => report(remote, env, &registry, limit, today, &stop),
        ProviderChoice::Copilot => copilot_report(env, &registry, limit, today, &stop),
        ProviderChoice::Offline => Err(Problem::config(
            "No provider of language models is set up, so there is no list of models.",
        )
        .next("Name one: marvin models PROVIDER (marvin help providers).")
        .next("Set its key, or run ollama.")),
    };
    let signal = signal.load(Ordering::SeqCst);
    if signal != 0 {
        return Ok(128 + signal);
    }
    let found = found?;
    if let Some(problem) = &found.problem {
        say_words(&format!("Warning: {}\n", problem.one_line()));
    }
    if json.is_empty() {
        // A chosen model may be called anything.
        print_words(&text(&found, today))?;
    } else {
        let text = serde_json::to_string_pretty(&found)
            .map_err(|why| Problem::internal(format!("The list cannot be written: {why}.")))?;
        print(&(text + "\n"))?;
    }
    Ok(0)
}

/// The list in columns.
fn text(report: &ModelReport, today: Date) -> String {
    let mut out = match report.source {
        ListSource::Provider => format!(
            "Models of {}, from its own list at {}:\n",
            report.provider, report.base
        ),
        ListSource::Table => format!(
            "Models of {}, from Marvin's table of {}; names may lack a vendor's prefix or a version's suffix:\n",
            report.provider, report.table_date
        ),
    };
    if report.models.is_empty() {
        out.push_str("  none\n");
    }
    let widest = |cell: fn(&ReportedModel) -> String| {
        let lengths = report
            .models
            .iter()
            .map(|model| cell(model).chars().count());
        lengths.max().unwrap_or_default()
    };
    let (names, windows, prices) = (
        widest(|model| model.id.clone()),
        widest(window),
        widest(price),
    );
    let shown_price = |model: &ReportedModel| match report.provider {
        copilot::NAME => String::new(),
        _ => price(model),
    };
    for model in &report.models {
        let mark = if model.chosen { '*' } else { ' ' };
        let line = format!(
            "{mark} {:<names$}  {:>windows$}  {:<prices$}  {}",
            model.id,
            window(model),
            shown_price(model),
            model.remarks(today)
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out.push_str(match report.provider {
        copilot::NAME => "\nWindow in tokens; × is what a request takes of a yearly plan. Use is counted in AI credits.\n",
        _ => "\nWindow in tokens; US dollars per million tokens of input / cached input / output;\n+ is more for long prompts.\n",
    });
    if !report.retired.is_empty() {
        let retired: Vec<String> = report
            .retired
            .iter()
            .map(|model| match model.successor {
                Some(successor) => format!("{} (use {successor})", model.id),
                None => model.id.to_owned(),
            })
            .collect();
        let _ = writeln!(out, "No longer served: {}.", retired.join(", "));
    }
    out
}

fn window(model: &ReportedModel) -> String {
    model.limits.window.map_or_else(
        || "?".to_owned(),
        |tokens| {
            if tokens < 10_000 {
                thousands(tokens)
            } else {
                format!("{}k", thousands(tokens / 1000))
            }
        },
    )
}

fn price(model: &ReportedModel) -> String {
    let Some(TokenPrice { rates, tiers }) = &model.price else {
        return "?".to_owned();
    };
    if rates.input == 0.0 && rates.output == 0.0 {
        return "free".to_owned();
    }
    let more = if tiers.is_empty() { "" } else { " +" };
    let [input, cached, output] =
        [rates.input, rates.cache_read, rates.output].map(|rate| trim_decimals(rate, 4));
    format!("{input} / {cached} / {output}{more}")
}
