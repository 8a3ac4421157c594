//! Maps error answers to failures: what can be done about them, and the message for the user.

mod classify;
mod provider_error;
mod refused_tool;
mod retry_after;

pub(crate) use provider_error::{ErrorCode, ProviderError};

pub(crate) use provider_error::{fired_filters, first_part};
pub(crate) use refused_tool::refused_tool;

use super::ErrorContext;
use super::optional::{self, OptionalMembers};
use crate::base::problem::{Problem, ProblemKind};
use crate::base::{redact, text};
use crate::llm::catalog::variable;
use crate::llm::failure::{ErrorAnswer, Failure, FailureKind, PassingError};

/// Headers with the name under which the provider knows a request.
pub(crate) const REQUEST_IDS: [&str; 4] = [
    "x-request-id",
    "request-id",
    "apim-request-id",
    "x-generation-id",
];

/// The failure for a response with a status other than 2xx.
///
/// `header` looks up a header by its lower-case name; `body` is the body or its beginning.
pub(crate) fn from_response(
    context: &ErrorContext,
    status: u16,
    header: &dyn Fn(&str) -> Option<String>,
    body: &[u8],
) -> Failure {
    if (300..400).contains(&status) {
        return redirected(context, status, header("location").as_deref());
    }
    let error = ProviderError::from_body(body).unpacked();
    let wait = retry_after::requested_wait(header, &error.message);
    let mut kind = classify::classify(&error, Some(status), wait);
    if matches!(kind, FailureKind::Refused | FailureKind::Server)
        && matches!(status, 404 | 405 | 501)
        && !classify::is_unknown_model(&error, Some(status))
    {
        kind = FailureKind::NoSuchPath;
    }
    let words = error.words();
    let mentions = |word: &str| words.contains(word);
    let is_complaint = kind == FailureKind::Refused && matches!(status, 400 | 422);
    let refused = if is_complaint {
        optional::refused(error.param.as_deref(), &error.message)
    } else {
        OptionalMembers::default()
    };
    let request_id = REQUEST_IDS.iter().find_map(|name| header(name));
    let context = ErrorContext {
        request_id: request_id.or_else(|| context.request_id.clone()),
        ..context.clone()
    };
    let passes = kind == FailureKind::Server;
    let mut failure = failure(&context, kind, Some(status), &error);
    failure.passing = passes.then_some(PassingError { wait });
    failure.answer = Some(ErrorAnswer {
        status,
        mentions_tools: mentions("tool") || mentions("function"),
        refused,
    });
    failure
}

/// The failure for an error object inside a stream of status 200: after the first byte the status line is already sent.
pub(super) fn in_stream(context: &ErrorContext, error: &ProviderError) -> Failure {
    let error = &error.unpacked();
    let wait = retry_after::requested_wait(&|_| None, &error.message);
    let kind = classify::classify(error, None, wait);
    let passes = classify::passes(error, &kind);
    let mut failure = failure(context, kind, error.status(), error);
    failure.passing = passes.then_some(PassingError { wait });
    failure
}

/// A provider's own message on one line: shortened, without secrets and control characters.
pub(super) fn quoted(context: &ErrorContext, words: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    let safe = redact::secrets(&words.join(" "), &context.secrets).into_owned();
    text::escape_controls(&text::clip(&safe, 600))
}

fn redirected(context: &ErrorContext, status: u16, location: Option<&str>) -> Failure {
    let name = context.row.name;
    let to = location.map_or_else(
        || "without saying where to".to_owned(),
        |to| format!("to {}", quoted(context, to)),
    );
    let problem = Problem::new(
        ProblemKind::Config,
        format!("{name} redirects ({status}) {to}. It was not followed, so no key was sent there."),
    )
    .next(format!(
        "If that is the right place, set {} to it.",
        context.url_variable
    ));
    Failure::new(FailureKind::Refused, problem)
}

fn failure(
    context: &ErrorContext,
    kind: FailureKind,
    status: Option<u16>,
    error: &ProviderError,
) -> Failure {
    let name = context.row.name;
    let model = &context.model;
    let tag = tag(status, error);
    let message = quoted(context, &error.message);
    let message = message.trim_end_matches('.');
    let because = match &context.request_id {
        _ if !message.is_empty() => format!(": {message}."),
        Some(id) => {
            let id = text::escape_controls(&text::clip(id, 80));
            format!(" and gave no reason (request {id}).")
        }
        None => " and gave no reason.".to_owned(),
    };
    let other = "choose another provider: --provider NAME (marvin help providers).";
    let problem = match &kind {
        FailureKind::Auth | FailureKind::Refused if classify::is_wrong_place(error) => {
            Problem::refused(format!(
                "{name} does not serve the country or region that this request comes from{tag}{because}"
            ))
            .next(format!(
                "The key is not the reason. Ask from a place that it serves (a VPN or a proxy may be what it sees), or {other}"
            ))
        }
        FailureKind::Auth if classify::is_unknown_model(error, status) => {
            let problem = Problem::missing(format!(
                "{name} does not serve {model} to this account{tag}{because}"
            ));
            let problem = match &context.successor {
                Some(hint) => problem.next(hint.clone()),
                None => problem,
            };
            problem.next(format!(
                "The key itself was accepted. Choose another model: --model NAME (marvin models {name} lists them), or ask for access there."
            ))
        }
        FailureKind::Filtered => {
            let filters = error.filtered.join("; ");
            let by = match filters.as_str() {
                "" => String::new(),
                filters => format!(" ({})", quoted(context, filters)),
            };
            Problem::refused(format!(
                "A content filter of {name} refused the request{by}{tag}{because}"
            ))
            .next("Ask in other words, or choose another model.")
        }
        FailureKind::Auth => {
            let key = context.row.key.unwrap_or("the key");
            // Only the provider knows what is wrong with the key (a scope, a credit card, an organisation).
            let (what, check) = if status == Some(403) {
                let what = format!("{name} refused access{tag}{because}");
                (what, format!("Check what {key} may do there, or {other}"))
            } else {
                let what = format!("{name} refused the key{tag}{because}");
                let check = match name {
                    "ollama" => format!("Sign in with `ollama signin`, or {other}"),
                    _ => format!("Check {key}, or {other}"),
                };
                (what, check)
            };
            Problem::new(ProblemKind::Auth, what).next(check)
        }
        FailureKind::RateLimited { wait } => {
            // Waits this long are not made, so the message has to mention it.
            let wait = wait.map_or_else(
                || "Wait a little".to_owned(),
                |wait| format!("It asks for a wait of {} s; wait", wait.as_secs().max(1)),
            );
            Problem::limit(format!("{name} limits requests{tag}{because}"))
                .next(format!("{wait}, or {other}"))
        }
        FailureKind::Quota => {
            Problem::limit(format!("The quota at {name} is used up{tag}{because}")).next(format!(
                "Waiting does not help. Check the plan there, or {other}"
            ))
        }
        FailureKind::TooLarge => Problem::limit(format!(
            "This request is larger than {name} lets this account send{tag}{because}"
        ))
        .next(fewer_tools(context.schema_tokens)),
        FailureKind::TooLong => Problem::limit(format!(
            "The conversation is too long for {model} at {name}{tag}{because}"
        ))
        .next(
            "Shorten it or begin a new one, or choose a model with a larger window: --model NAME.",
        ),
        FailureKind::NoTools => Problem::refused(format!(
            "The model {model} at {name} cannot take tools{tag}{because}"
        ))
        .next("Choose another model: --model NAME, or go without tools: --tools none."),
        FailureKind::BadCall { wrote } => {
            let problem = Problem::new(
                ProblemKind::Network,
                format!(
                    "The model {model} at {name} wrote a tool call that cannot be read{tag}{because}"
                ),
            );
            if wrote.is_empty() {
                problem
            } else {
                let wrote = redact::secrets(wrote, &context.secrets);
                problem.facts(format!("It wrote: {}", text::clip(&wrote, 2000)))
            }
        }
        FailureKind::Refused if classify::is_unknown_model(error, status) => {
            let problem = Problem::missing(format!("{name} has no model {model}{tag}{because}"));
            let problem = match &context.successor {
                Some(hint) => problem.next(hint.clone()),
                None => problem,
            };
            problem.next(if context.row.name == "ollama" {
                format!("Fetch it with `ollama pull {model}`, or choose another: --model NAME.")
            } else {
                format!("Choose another model: --model NAME (marvin models {name} lists them).")
            })
        }
        FailureKind::OtherWire => Problem::refused(format!(
            "{name} serves {model} with tools only over the Responses API{tag}{because}"
        ))
        .next(format!("Set {}=responses.", variable(name, "WIRE"))),
        FailureKind::NoSuchPath => {
            Problem::missing(format!("{name} knows no such address{tag}{because}"))
                .next(format!("Check {}.", context.url_variable))
        }
        FailureKind::Refused => {
            Problem::refused(format!("{name} refused the request{tag}{because}"))
        }
        _ => Problem::network(format!("{name} failed{tag}{because}"))
            .next(format!("Try again later, or {other}")),
    };
    Failure::new(kind, problem)
}

/// ` (401 invalid_api_key)`, as far as known.
fn tag(status: Option<u16>, error: &ProviderError) -> String {
    let word = match &error.code {
        Some(ErrorCode::Word(word)) if word.parse::<i64>().is_err() => Some(word.as_str()),
        _ => None,
    }
    .or(error.kind.as_deref())
    .map(|word| text::escape_controls(&text::clip(word, 60)));
    match (status, word) {
        (Some(status), Some(word)) => format!(" ({status} {word})"),
        (Some(status), None) => format!(" ({status})"),
        (None, Some(word)) => format!(" ({word})"),
        (None, None) => String::new(),
    }
}

/// Advice when the tools exceed the account's limit.
fn fewer_tools(schema_tokens: usize) -> String {
    let ways = "offer fewer tools with --tools GROUP, or choose another model or plan.";
    if schema_tokens == 0 {
        return format!("To make it fit, {ways}");
    }
    let tokens = text::thousands(u64::try_from(schema_tokens).unwrap_or(u64::MAX));
    format!("The tool schemas take about {tokens} tokens of it: {ways}")
}

#[cfg(test)]
mod tests;
