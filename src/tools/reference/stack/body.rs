//! The HTML of a post as text: code unchanged, links as "text (address)", entities decoded once.

use crate::formats::html::{self, HtmlToken};

/// The text of a post on `site`; relative links are resolved.
pub(super) fn text(body: &str, site: &str) -> String {
    let mut out = String::with_capacity(body.len() + body.len() / 8);
    // The open link: its address and the start of its text in `out`.
    let mut link: Option<(String, usize)> = None;
    html::read(body, |piece| match piece {
        HtmlToken::Open(tag) if tag.name() == "a" => {
            finish(&mut out, link.take());
            let address = tag.attribute("href").and_then(|href| absolute(href, site));
            link = address.map(|address| (address, out.len()));
        }
        HtmlToken::Close("a") => finish(&mut out, link.take()),
        HtmlToken::Open(tag) if tag.name() == "img" => {
            let alt = tag.attribute("alt").unwrap_or_default().trim();
            let alt = if alt.is_empty() { "image" } else { alt };
            push(&mut out, &format!("[{alt}]"));
        }
        HtmlToken::Open(tag) => {
            out.push('<');
            out.push_str(tag.name());
            out.push('>');
        }
        HtmlToken::Close(name) => {
            out.push_str("</");
            out.push_str(name);
            out.push('>');
        }
        HtmlToken::Text(words) => push(&mut out, words),
    });
    finish(&mut out, link);
    html::text(&out)
}

/// Ends a link: its address follows its text, unless the text already contains it.
fn finish(out: &mut String, link: Option<(String, usize)>) {
    let Some((address, from)) = link else {
        return;
    };
    let shown = html::line(out.get(from..).unwrap_or_default());
    let bare = |text: &str| {
        let text = text.trim_start_matches("https://");
        let text = text.trim_start_matches("http://");
        text.trim_end_matches('/').to_owned()
    };
    if shown.is_empty() {
        push(out, &address);
    } else if bare(&shown) != bare(&address) {
        push(out, &format!(" ({address})"));
    }
}

/// The address of a link; `None` for anchors in the post itself and for invalid ones.
fn absolute(href: &str, site: &str) -> Option<String> {
    let href = href.split_whitespace().collect::<String>();
    let lower = href.to_ascii_lowercase();
    if ["http://", "https://", "mailto:", "ftp://"]
        .iter()
        .any(|scheme| lower.starts_with(scheme))
    {
        Some(href)
    } else if href.starts_with("//") {
        Some(format!("https:{href}"))
    } else if href.starts_with('/') {
        Some(format!("{site}{href}"))
    } else {
        None
    }
}

/// Appends text, escaped as HTML.
fn push(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SITE: &str = "https://x.test";

    #[test]
    fn posts_become_text() {
        for (body, wanted) in [
            (
                "<p>See <a href=\"https://a.test/b?c=1&amp;d=2\" rel=\"x\">the <b>page</b></a>.</p>",
                "See the page (https://a.test/b?c=1&d=2).",
            ),
            (
                "<p><a href=\"https://a.test/b/\">https://a.test/b</a> <a href=\"http://a.test\">a.test</a></p>",
                "https://a.test/b a.test",
            ),
            (
                "<a href=\"/q/1\">one</a> <a href=\"//c.test/2\">two</a> <a href=\"#x\">three</a> <a href=\"javascript:a()\">four</a> <a>five</a>",
                "one (https://x.test/q/1) two (https://c.test/2) three four five",
            ),
            (
                "<a href=\"https://i.test/1.png\"><img src=\"https://i.test/1.png\" alt=\"a chart\"></a> <img src=\"y\"/>",
                "[a chart] (https://i.test/1.png) [image]",
            ),
            ("<a href=\"https://a.test/\"></a>", "https://a.test/"),
            (
                "<a href=\"https://a.test/1\">open",
                "open (https://a.test/1)",
            ),
            (
                "<p>Vec&lt;T&gt; &amp;amp; it&#x27;s&hellip;&nbsp;ok</p>",
                "Vec<T> &amp; it's… ok",
            ),
            (
                "<p>Do:</p><pre class=\"lang-c\"><code>if (a &lt; b)\n    go(&amp;a);\n\nend\n</code></pre><p>Done</p>",
                "Do:\n\nif (a < b)\n    go(&a);\n\nend\n\nDone",
            ),
            ("<ul><li>one</li><li>two</li></ul>", "- one\n- two"),
            ("<script>no()</script>yes", "yes"),
            ("a < b & c", "a < b & c"),
        ] {
            let got = text(body, SITE).replace('\u{a0}', " ");
            let lines = got
                .lines()
                .map(str::trim_end)
                .collect::<Vec<_>>()
                .join("\n");
            assert_eq!(lines, wanted, "{body}");
        }
    }

    proptest! {
        #[test]
        fn code_is_unchanged(code in "[a-z<>&\" ]{1,20}(\n {0,4}[a-z<>&;]{1,9}){0,4}") {
            let mut escaped = String::new();
            push(&mut escaped, &code);
            let got = text(&format!("<p>x</p><pre><code>{escaped}</code></pre>"), SITE);
            let wanted = format!("x\n\n{code}");
            prop_assert_eq!(got.trim_end(), wanted.trim_end());
        }

        #[test]
        fn any_html_becomes_text(body in "(<(a href='/x'|/a|pre|/pre|img|p)?>?|&[a-z#0-9]{0,5};?|.{0,8}){0,30}") {
            let _ = text(&body, SITE);
        }
    }
}
