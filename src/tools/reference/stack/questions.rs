//! `stack_search`: searches questions.

use serde_json::Value;

use super::StackSearch;
use super::api::{Method, get, is_keyed, quota_line};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::plural;
use crate::formats::html;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::joined;
use crate::tools::output::untrusted::{fenced, line};
use crate::tools::output::web_links::stack_site;

pub(super) fn search(ctx: &ToolContext, args: StackSearch) -> Outcome<String> {
    let query = line(&args.query);
    let tags = tags(args.tagged.as_deref().unwrap_or_default());
    if query.is_empty() && tags.is_empty() {
        return Err(
            Problem::input("There is nothing to search Stack Exchange for.")
                .next("Give words in query, or tags in tagged."),
        );
    }
    let (site, name) = (args.site.word(), args.site.name());
    let method = Method {
        name: "/search/advanced",
        path: "/search/advanced",
    };
    let value = get(ctx, &method, |send_request| {
        send_request
            .query_if("q", Some(&query).filter(|query| !query.is_empty()))
            .query("site", site)
            .query_if("tagged", Some(&tags).filter(|tags| !tags.is_empty()))
            .query("sort", args.sort.word())
            .query("order", "desc")
            .query("pagesize", args.max_results)
    })?;
    let questions: Vec<String> = value
        .list("items")
        .iter()
        .filter_map(|item| question(item, &stack_site(site)))
        .collect();
    let requested = match (query.as_str(), tags.as_str()) {
        (query, "") => format!("\"{query}\""),
        ("", tags) => format!("the tags {tags}"),
        (query, tags) => format!("\"{query}\" with the tags {tags}"),
    };
    let mut out = if questions.is_empty() {
        format!("{name} has no questions for {requested}.")
    } else {
        let more = if value.flag("has_more") {
            ", there are more"
        } else {
            ""
        };
        format!(
            "{name}: {} for {requested}{more}:",
            plural(questions.len(), "question")
        )
    };
    if !questions.is_empty() {
        let numbered = questions.iter().zip(1..);
        let shown: Vec<String> = numbered.map(|(q, n)| format!("{n}. {q}")).collect();
        out.push_str(&format!("\n{}", fenced(name, &shown.join("\n\n"))));
        out.push_str("\n\nTitles: CC BY-SA, by their authors.");
    }
    if let Some(remaining) = quota_line(&value, is_keyed(ctx)) {
        out.push_str(&format!("\n{remaining}"));
    }
    Ok(out)
}

/// Tags in the service's format: `a;b`.
fn tags(text: &str) -> String {
    let tags = text.split([';', ',']).map(line);
    tags.filter(|tag| !tag.is_empty())
        .map(|tag| tag.replace(' ', "-"))
        .collect::<Vec<_>>()
        .join(";")
}

/// One question in a few lines; `None` for an unusable entry.
fn question(value: &Value, site: &str) -> Option<String> {
    let id = value.whole("question_id")?;
    let title = match html::line(value.text("title").unwrap_or_default()) {
        title if title.is_empty() => "(no title)".to_owned(),
        title => line(&title),
    };
    let mark = if value.whole("accepted_answer_id").is_some() {
        " (accepted answer)"
    } else if value.flag("is_answered") {
        " (answered)"
    } else {
        ""
    };
    let answers = value
        .whole("answer_count")
        .and_then(|n| usize::try_from(n).ok());
    let tags: Vec<String> = value.texts("tags").into_iter().map(line).collect();
    let facts = [
        value.whole("score").map(|score| format!("score {score}")),
        answers.map(|count| match count {
            0 => "no answers".to_owned(),
            count => plural(count, "answer"),
        }),
        day(value),
        (!tags.is_empty()).then(|| tags.join(", ")),
        Some(format!("id {id}")),
    ];
    let link = match value.text("link") {
        Some(link) => line(link),
        None => format!("{site}/q/{id}"),
    };
    Some(format!(
        "{title}{mark}\n   {}\n   {link}",
        joined(facts, " · ")
    ))
}

pub(super) fn day(value: &Value) -> Option<String> {
    let second = value.whole("creation_date")?;
    let time = jiff::Timestamp::from_second(second).ok()?;
    Some(time.strftime("%Y-%m-%d").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_question_is_shown_in_a_few_lines() {
        let full = json!({"title": "Is &quot;a &lt; b&quot; &#39;true&#39; for List&lt;T&gt;?", "question_id": 7, "score": -3, "answer_count": 1,
            "is_answered": true, "accepted_answer_id": 9, "tags": ["c++", "math"], "link": "https://x.test/q/7", "creation_date": 0});
        assert_eq!(
            question(&full, "https://s.test").unwrap(),
            "Is \"a < b\" 'true' for List<T>? (accepted answer)\n   score -3 · 1 answer · 1970-01-01 · c++, math · id 7\n   https://x.test/q/7"
        );
        let bare =
            json!({"question_id": 7, "title": null, "answer_count": 0, "creation_date": i64::MAX});
        assert_eq!(
            question(&bare, "https://s.test").unwrap(),
            "(no title)\n   no answers · id 7\n   https://s.test/q/7"
        );
        assert_eq!(question(&json!({"title": "x"}), ""), None);
    }

    #[test]
    fn tags_are_separated_by_semicolons() {
        assert_eq!(tags(" c++ ; linux,big data;; "), "c++;linux;big-data");
        assert_eq!(tags(" ; "), "");
    }
}
