//! `wiki_full` and `wiki_grep`: saves a whole article to a file, and shows matching lines.

use super::api::action;
use super::lines::{LinePattern, count_line, matching};
use super::page::{heading, page};
use super::saved;
use super::title::Title;
use super::{LICENCE, WikiFull, WikiGrep};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, thousands};
use crate::tools::engine::context::ToolContext;
use crate::tools::output::untrusted::{fenced, line};

/// Characters of the text that are shown after saving.
const PREVIEW_CHARS: usize = 300;

pub(super) fn full(ctx: &ToolContext, args: WikiFull) -> Outcome<String> {
    let requested = Title::new(&args.title)?;
    let dir = ctx.session.paths.wiki()?;
    let value = action(ctx, requested.language.as_deref(), |ask| {
        ask.query("prop", "extracts|pageprops|info")
            .query("inprop", "url")
            .query("explaintext", 1)
            .query("exsectionformat", "wiki")
            .query("redirects", 1)
            .query("titles", &requested.text)
    })?;
    let page = page(&requested, &value)?;
    let text = clean_text(&page.extract);
    if text.is_empty() {
        return Err(Problem::missing(format!(
            "The article \"{}\" has no text that could be saved.",
            page.title
        ))
        .next("It may be a redirect or a list; find others with wiki_search."));
    }
    ctx.stop.check()?;
    let path = saved::save(&dir, &requested, &page.title, page.url.as_deref(), &text)?;
    let words = text.split_whitespace().count() as u64;
    let note = match page.is_disambiguation {
        true => "\nIt is a list of articles that the title could mean.",
        false => "",
    };
    Ok(format!(
        "{}\n{LICENCE}\nSaved: {} ({} {}){note}\n\nIt begins: {}\n\nSearch it with wiki_grep, title \"{}\" and a pattern.",
        heading(&requested, &page),
        path.display(),
        thousands(words),
        if words == 1 { "word" } else { "words" },
        clip(&line(&text), PREVIEW_CHARS),
        page.title
    ))
}

pub(super) fn grep(ctx: &ToolContext, args: WikiGrep) -> Outcome<String> {
    let requested = Title::new(&args.title)?;
    let pattern = LinePattern::new(&args.pattern)?;
    let saved = saved::find(&ctx.session.paths.wiki()?, &requested)?;
    let shown = clip(&line(&args.pattern), 100);
    let note = match &pattern.plain {
        Some(reason) => format!(
            "\nThe pattern is not a valid regular expression ({reason}); it was looked for as plain text."
        ),
        None => String::new(),
    };
    let title = &saved.title;
    let Some((count, lines)) = matching(&saved.text, &pattern) else {
        return Ok(format!(
            "No line of \"{title}\" contains \"{shown}\".{note}"
        ));
    };
    let source = saved.url.map_or(String::new(), |url| format!(" {url}"));
    Ok(format!(
        "\"{shown}\" in \"{title}\": {}.{note}\n{LICENCE}.{source}\n\n{}",
        count_line(count),
        fenced("Wikipedia", &lines)
    ))
}

/// The text to save: no trailing spaces, no consecutive empty lines, no control characters.
pub(super) fn clean_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for row in text.lines() {
        let row: String = row
            .chars()
            .map(|c| if c == '\t' { ' ' } else { c })
            .filter(|c| !c.is_control())
            .collect();
        let row = row.trim_end();
        empty = if row.is_empty() { empty + 1 } else { 0 };
        if empty < 2 && !(out.is_empty() && row.is_empty()) {
            out.push_str(row);
            out.push('\n');
        }
    }
    let end = out.trim_end().len();
    out.truncate(end);
    if end > 0 {
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::clean_text;

    #[test]
    fn consecutive_empty_lines_become_one() {
        assert_eq!(
            clean_text("\n\nOne. \n\n\n== Two ==\n  three\u{1b}[1m\n\n\n"),
            "One.\n\n== Two ==\n  three[1m\n"
        );
        assert_eq!(clean_text(" \n\n"), "");
    }
}
