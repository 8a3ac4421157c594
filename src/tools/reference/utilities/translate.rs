//! Translation by MyMemory, a public translation memory (<https://mymemory.translated.net/doc/spec.php>).

use serde_json::Value;

use super::TranslateText;
use super::languages::{Language, language};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{capitalize, escape_controls, thousands, trim_decimals};
use crate::formats::html::entities;
use crate::net::service::ServiceResponse;
use crate::net::services::MYMEMORY;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::untrusted::fenced;
use crate::tools::reference::utilities::chunks::chunks;

/// Maximum bytes of text in one request.
const MAX_CHUNK_BYTES: usize = 500;
/// Maximum bytes of a text; about the free daily quota.
const MAX_TEXT_BYTES: usize = 8_000;
/// Longer translations are fenced.
const MAX_UNFENCED_CHARS: usize = 200;

#[derive(Debug, Default, PartialEq)]
struct Translated {
    text: String,
    /// From 0 to 1.
    confidence: Option<f64>,
    /// English name of the detected language.
    detected: Option<String>,
}

pub(super) fn translate(ctx: &ToolContext, args: TranslateText) -> Outcome<String> {
    let text = args.text.trim();
    if text.is_empty() {
        return Err(Problem::input("There is no text to translate."));
    }
    if text.len() > MAX_TEXT_BYTES {
        return Err(Problem::limit(format!(
            "The text is {} bytes long; {} are the limit of one translation.",
            thousands(text.len() as u64),
            thousands(MAX_TEXT_BYTES as u64)
        ))
        .next("Translate it part by part."));
    }
    let target = language(&args.target_language)?;
    let source = match args.source_language.trim().to_lowercase().as_str() {
        "" | "auto" | "autodetect" | "detect" => None,
        _ => Some(language(&args.source_language)?),
    };
    if source.as_ref() == Some(&target) {
        return Err(Problem::input(format!(
            "The text is to be translated from {} to the same language.",
            target.name()
        ))
        .next("Give two different languages."));
    }
    let parts = chunks(text, MAX_CHUNK_BYTES);
    let mut done: Vec<Translated> = Vec::new();
    let mut out = String::new();
    for (n, part) in parts.iter().enumerate() {
        if parts.len() > 1 {
            ctx.progress(format!("{} of {}", n + 1, parts.len()));
        }
        match translate_chunk(ctx, part.text, source.as_ref(), &target) {
            Ok(found) => {
                out.push_str(&found.text);
                out.push_str(part.gap);
                done.push(found);
            }
            Err(problem) if n > 0 && !problem.is_cancelled() => {
                let partial = fenced("MyMemory", &out);
                let place = format!("The first {n} of {} parts were translated:", parts.len());
                return Err(problem.facts(format!("{place}\n{partial}")));
            }
            Err(problem) => return Err(problem),
        }
    }
    Ok(shown(&out, &done, source.as_ref(), &target))
}

fn shown(text: &str, done: &[Translated], source: Option<&Language>, target: &Language) -> String {
    let detected = done.iter().find_map(|own| own.detected.as_deref());
    let from = match (source, detected) {
        (Some(source), _) => source.name().to_owned(),
        (None, Some(name)) => format!("{name} (detected)"),
        (None, None) => "detected language".to_owned(),
    };
    let least = done
        .iter()
        .filter_map(|own| own.confidence)
        .reduce(f64::min);
    let sure = match least {
        Some(least) if done.len() > 1 => {
            format!(
                ", confidence at least {} %",
                trim_decimals(least * 100.0, 0)
            )
        }
        Some(least) => format!(", confidence {} %", trim_decimals(least * 100.0, 0)),
        None => String::new(),
    };
    let head = format!("{} → {}{sure} (MyMemory)", capitalize(&from), target.name());
    match text.chars().count() > MAX_UNFENCED_CHARS {
        true => format!("{head}\n{}", fenced("MyMemory", text)),
        false => format!("{head}\n{text}"),
    }
}

fn translate_chunk(
    ctx: &ToolContext,
    text: &str,
    source: Option<&Language>,
    target: &Language,
) -> Outcome<Translated> {
    let from = source.map_or("autodetect", |source| &source.code);
    // A mail address raises the daily quota; the user set it for this purpose.
    let mail = ctx.session.contact().filter(|contact| is_mail(contact));
    let answer = ctx
        .service(&MYMEMORY)
        .path("/get")
        .query("q", text)
        .query("langpair", format!("{from}|{}", target.code))
        .query_if("de", mail.as_ref())
        .get()?;
    check_response(&answer, text, mail.is_some())
}

fn is_mail(contact: &str) -> bool {
    contact.contains('@') && !contact.contains([':', '/', ' '])
}

/// The translation in a response. Errors also come with status 200, their message in place of the translation.
fn check_response(answer: &ServiceResponse, requested: &str, mailed: bool) -> Outcome<Translated> {
    let Some(value) = answer.value().filter(Value::is_object) else {
        return Err(match answer.is_ok() {
            true => answer.unreadable(),
            false => answer.refused(None),
        });
    };
    let text = value
        .text("responseData/translatedText")
        .unwrap_or_default();
    let details = value.text("responseDetails").unwrap_or_default();
    let message = if details.is_empty() { text } else { details };
    let status = value.whole("responseStatus");
    let loud = |text: &str| text.trim_start().to_uppercase();
    let quota = |text: &str| {
        let text = loud(text);
        text.starts_with("MYMEMORY WARNING") || text.contains("ALL AVAILABLE FREE TRANSLATIONS")
    };
    let by_rate = answer.status == 429 || status == Some(429);
    if value.flag("quotaFinished")
        || ((quota(text) || quota(details)) && !quota(requested))
        || by_rate
    {
        let problem = quota_error(answer, message);
        return Err(match mailed {
            true => problem,
            false => {
                problem.next("MARVIN_CONTACT set to an e-mail address raises the daily limit.")
            }
        });
    }
    let failed = status.is_some_and(|status| !(200..300).contains(&status));
    let wrong = is_error(text) && !is_error(requested);
    if failed || wrong || !answer.is_ok() {
        return Err(refusal(answer, status, message));
    }
    if value.at("responseData").is_none() && value.list("matches").is_empty() {
        return Err(answer.unreadable());
    }
    let detected = value.text("responseData/detectedLanguage");
    let best = (text.is_empty()).then(|| best(&value)).flatten();
    let (text, confidence) = match &best {
        Some(found) => (found.text("translation"), found.number("match")),
        None => (Some(text), value.number("responseData/match")),
    };
    let text = text.map(clean).filter(|text| !text.is_empty());
    Ok(Translated {
        text: text.ok_or_else(|| {
            Problem::missing("MyMemory has no translation of this.")
                .next("Try other words, or name the source language.")
        })?,
        confidence: confidence.map(|own| own.clamp(0.0, 1.0)),
        detected: detected.map(|name| clean(name).chars().take(40).collect()),
    })
}

/// The most likely of the other translations.
fn best(value: &Value) -> Option<Value> {
    let good = |own: &&Value| own.text("translation").is_some_and(|text| !is_error(text));
    let score = |own: &Value| {
        let of = |key| own.number(key).unwrap_or_default();
        (of("match"), of("quality"))
    };
    let all = value.list("matches").iter().filter(good);
    all.reduce(|a, b| if score(b) > score(a) { b } else { a })
        .cloned()
}

/// True for the messages that the service puts in place of a translation.
fn is_error(text: &str) -> bool {
    let text = text.trim().to_uppercase();
    [
        "MYMEMORY WARNING",
        "PLEASE SELECT TWO DISTINCT LANGUAGES",
        "INVALID EMAIL PROVIDED",
        "INVALID LANGUAGE PAIR",
        "QUERY LENGTH LIMIT EXCE",
        "NO QUERY SPECIFIED",
        "NO CONTENT",
    ]
    .iter()
    .any(|start| text.starts_with(start))
        || text.contains("IS AN INVALID TARGET LANGUAGE")
        || text.contains("IS AN INVALID SOURCE LANGUAGE")
}

fn quota_error(answer: &ServiceResponse, message: &str) -> Problem {
    let problem = Problem::limit("MyMemory's free translations are used up for now.");
    match (time_until_reset(message), answer.retry_after()) {
        (Some(time), _) => problem.next(format!("They are available again in {time}.")),
        (None, Some(wait)) => problem.next(format!("Try again in {} s.", wait.as_secs().max(1))),
        (None, None) => problem.next("Try again later; the quota resets every day."),
    }
}

/// "NEXT AVAILABLE IN 18 HOURS 10 MINUTES 39 SECONDS" as "18 h 10 min 39 s".
fn time_until_reset(message: &str) -> Option<String> {
    let upper = message.to_uppercase();
    let (_, after) = upper.split_once("AVAILABLE IN")?;
    let mut parts = Vec::new();
    let mut number: Option<&str> = None;
    for word in after.split_whitespace().take(8) {
        let unit = match word.trim_end_matches(['.', ',']).trim_end_matches('S') {
            "DAY" => "d",
            "HOUR" => "h",
            "MINUTE" => "min",
            "SECOND" => "s",
            _ if word.len() < 9 && word.bytes().all(|b| b.is_ascii_digit()) => {
                number = Some(word);
                continue;
            }
            _ => break,
        };
        let count = number.take()?.trim_start_matches('0');
        if !count.is_empty() {
            parts.push(format!("{count} {unit}"));
        }
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn refusal(answer: &ServiceResponse, status: Option<i64>, message: &str) -> Problem {
    let upper = message.to_uppercase();
    if upper.contains("DISTINCT LANGUAGES") {
        return Problem::input("MyMemory takes the text to be in the target language already.")
            .next("Name the source language, or another target language.");
    }
    if upper.contains("INVALID EMAIL") {
        return Problem::config("MyMemory does not accept the contact as an e-mail address.")
            .next("Check MARVIN_CONTACT.");
    }
    if upper.contains("LENGTH LIMIT") {
        return Problem::limit("The text is too long for MyMemory.")
            .next("Translate it part by part.");
    }
    if upper.contains("INVALID LANGUAGE PAIR") || upper.contains("IS AN INVALID") {
        return Problem::input("MyMemory does not translate between these languages.")
            .next("Give ISO 639-1 codes, for example en and it.");
    }
    let words = answer.quoted(message);
    match (answer.is_ok(), words.is_empty()) {
        (false, true) => answer.refused(None),
        (false, false) => answer.refused(Some(&words)),
        (true, _) => {
            let status = status.map(|status| format!(" ({status})"));
            let colon = if words.is_empty() { "" } else { ": " };
            Problem::network(format!(
                "MyMemory failed{}{colon}{}.",
                status.unwrap_or_default(),
                words.trim_end_matches('.')
            ))
            .next("Try again later.")
        }
    }
}

/// A text with entities decoded and control characters removed.
fn clean(text: &str) -> String {
    escape_controls(entities(text).trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use serde_json::json;

    fn judged(status: u16, value: &Value) -> Outcome<Translated> {
        check_response(
            &ServiceResponse::new(&MYMEMORY, status, value.to_string().into_bytes()),
            "good morning",
            false,
        )
    }

    fn fails(status: u16, value: &Value) -> String {
        judged(status, value).unwrap_err().one_line()
    }

    #[test]
    fn a_translation_shows_its_details() {
        let whole = judged(
            200,
            &json!({"responseData": {"translatedText": "l&#39;alba &amp; <b>", "match": "0.85", "detectedLanguage": "English"},
            "responseStatus": "200", "quotaFinished": false, "matches": []}),
        );
        assert_eq!(
            whole.unwrap(),
            Translated {
                text: "l'alba & <b>".to_owned(),
                confidence: Some(0.85),
                detected: Some("English".to_owned())
            }
        );
        let other = judged(
            200,
            &json!({"responseData": {"translatedText": "", "match": null}, "responseStatus": 200,
            "matches": [{"translation": "c", "match": 0.5, "quality": 90}, {"translation": "b", "match": 0.9, "quality": "70"},
                {"translation": "a", "match": 0.9, "quality": "74"}, {"translation": null, "match": 1}, {"translation": "MYMEMORY WARNING: X", "match": 1}]}),
        );
        assert_eq!(
            other.unwrap(),
            Translated {
                text: "a".to_owned(),
                confidence: Some(0.9),
                detected: None
            }
        );
        let bare = judged(
            200,
            &json!({"responseData": {"translatedText": "ja"}, "responseStatus": 200, "matches": ""}),
        );
        assert_eq!(bare.unwrap().confidence, None);
    }

    #[test]
    fn an_error_message_is_never_a_translation() {
        let with = |text: &str, status: Value| json!({"responseData": {"translatedText": text}, "responseStatus": status, "responseDetails": "", "matches": ""});
        let words =
            "MYMEMORY WARNING: ALL USED. NEXT AVAILABLE IN  02 HOURS 00 MINUTES 9 SECONDSVISIT X";
        for status in [json!(200), json!("429"), json!(429), json!(null)] {
            let message = fails(200, &with(words, status));
            assert_has(&message, &["used up", "again in 2 h"]);
        }
        let mut value = with("bene", json!(200));
        value["quotaFinished"] = json!(true);
        assert!(fails(200, &value).contains("used up"));
        for status in [json!("403"), json!(403), json!(200)] {
            let message = fails(200, &with("PLEASE SELECT TWO DISTINCT LANGUAGES", status));
            assert!(message.contains("already"), "{message}");
        }
        assert_has(
            &fails(200, &with("INVALID EMAIL PROVIDED", json!("403"))),
            &["MARVIN_CONTACT"],
        );
        assert_has(
            &fails(200, &with("QUERY LENGTH LIMIT EXCEEDED. X", json!("403"))),
            &["too long"],
        );
        assert_has(
            &fails(
                200,
                &with("'XX' IS AN INVALID TARGET LANGUAGE . X", json!("403")),
            ),
            &["does not translate"],
        );
        assert_has(
            &fails(200, &with("SOMETHING ELSE", json!("500"))),
            &["failed (500): SOMETHING ELSE."],
        );
        assert!(fails(503, &json!({"message": "x"})).contains("failed (503)"));
        assert!(fails(200, &json!({})).contains("cannot be read"));
        assert!(fails(200, &with("", json!(200))).contains("no translation"));
        assert!(fails(200, &json!([1])).contains("cannot be read"));
        let notes = check_response(
            &ServiceResponse::new(
                &MYMEMORY,
                200,
                with("MYMEMORY WARNING: X", json!(200))
                    .to_string()
                    .into_bytes(),
            ),
            "MyMemory warning: x",
            false,
        );
        assert!(notes.is_ok());
    }

    #[test]
    fn the_time_until_the_quota_resets_is_parsed() {
        assert_eq!(
            time_until_reset("NEXT AVAILABLE IN  18 HOURS 10 MINUTES 39 SECONDS VISIT").as_deref(),
            Some("18 h 10 min 39 s")
        );
        assert_eq!(time_until_reset("available in soon"), None);
    }
}
