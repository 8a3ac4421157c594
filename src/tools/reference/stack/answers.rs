//! `stack_answers`: the best answers of a question, with their authors and licence.

use serde_json::Value;

use super::api::{Method, get, is_keyed, quota_line};
use super::questions::day;
use super::{StackAnswers, body};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{clip, plural};
use crate::formats::html;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::{joined, objects};
use crate::tools::output::untrusted::{fenced, line};
use crate::tools::output::web_links::stack_site;

/// Answers that are requested, and answers that are shown.
const ASKED: usize = 5;
const SHOWN: usize = 3;
/// Maximum characters of an answer's text.
const MAX_ANSWER_CHARS: usize = 1_500;

pub(super) fn answers(ctx: &ToolContext, args: StackAnswers) -> Outcome<String> {
    let id = args.question_id;
    if id <= 0 {
        return Err(Problem::input(format!("{id} is not a question id."))
            .next("stack_search shows the ids of questions."));
    }
    let (site, name) = (args.site.word(), args.site.name());
    let path = format!("/questions/{id}/answers");
    let method = Method {
        name: "/questions/answers",
        path: &path,
    };
    let value = get(ctx, &method, |send_request| {
        send_request
            .query("site", site)
            .query("order", "desc")
            .query("sort", "votes")
            .query("pagesize", ASKED)
            .query("filter", "withbody")
    })?;
    let home = stack_site(site);
    let mut items = objects(&value, "items");
    items.shared_sort_by_key(|item| std::cmp::Reverse(item.whole("score").unwrap_or_default()));
    let remaining = quota_line(&value, is_keyed(ctx))
        .map_or(String::new(), |remaining| format!("\n{remaining}"));
    if items.is_empty() {
        return Ok(format!(
            "Question {id} on {name} has no answers, or there is no such question.{remaining}"
        ));
    }
    let more = if items.len() > SHOWN || value.flag("has_more") {
        ", there are more"
    } else {
        ""
    };
    let shown: Vec<String> = items
        .iter()
        .take(SHOWN)
        .enumerate()
        .map(|(n, item)| answer(n + 1, item, &home))
        .collect();
    Ok(format!(
        "{name}, question {id}: {} by votes{more}. {home}/q/{id}\n\n{}{remaining}",
        plural(shown.len(), "answer"),
        fenced(name, &shown.join("\n\n"))
    ))
}

/// One answer: its facts in a line, its link and author, and its text.
fn answer(n: usize, value: &Value, site: &str) -> String {
    let score = value.whole("score").map(|score| format!("score {score}"));
    let accepted = value.flag("is_accepted").then(|| "accepted".to_owned());
    let facts = match joined([score, accepted, day(value)], " · ") {
        facts if facts.is_empty() => format!("Answer {n}"),
        facts => format!("Answer {n}: {facts}"),
    };
    let author = html::line(value.text("owner/display_name").unwrap_or_default());
    let author = match (author.as_str(), value.text("owner/link")) {
        ("", _) => "a deleted user".to_owned(),
        (author, Some(link)) => format!("{} ({})", line(author), line(link)),
        (author, None) => line(author),
    };
    let licence = value
        .text("content_license")
        .map_or("CC BY-SA".to_owned(), line);
    let link = value.text("share_link").or(value.text("link")).map(line);
    let link = link.or_else(|| value.whole("answer_id").map(|id| format!("{site}/a/{id}")));
    let source = joined([Some(format!("by {author}")), Some(licence), link], ", ");
    let text = body::text(value.text("body").unwrap_or_default(), site);
    let text = match text.trim_end() {
        "" => "(no text)".to_owned(),
        text => clip(text, MAX_ANSWER_CHARS),
    };
    format!("{facts}\n{source}\n\n{text}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_names_its_author_and_licence() {
        let full = json!({"answer_id": 5, "score": 12, "is_accepted": true, "creation_date": 86_400, "content_license": "CC BY-SA 3.0",
            "owner": {"display_name": "A &amp; B", "link": "https://x.test/users/1"}, "body": "<p>Use <code>a&lt;b&gt;</code></p>"});
        assert_eq!(
            answer(1, &full, "https://s.test"),
            "Answer 1: score 12 · accepted · 1970-01-02\nby A & B (https://x.test/users/1), CC BY-SA 3.0, https://s.test/a/5\n\nUse a<b>"
        );
        assert_eq!(
            answer(
                2,
                &json!({"owner": {"user_type": "does_not_exist"}, "body": null}),
                "https://s.test"
            ),
            "Answer 2\nby a deleted user, CC BY-SA\n\n(no text)"
        );
        let long = json!({"body": format!("<p>{}</p>", "é".repeat(2_000))});
        let text = answer(1, &long, "https://s.test");
        assert_eq!(text.matches('é').count(), 1_500);
        assert!(text.ends_with('…'));
    }
}
