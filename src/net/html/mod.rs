//! HTML as text: a browser's tokenizer takes markup away once, and entities with it (contract/services/README-a.md 8).

mod flow;
mod tokens;

pub use tokens::{Open, Piece, read};

/// HTML (a page, a snippet, a title, an answer) as text: blocks on lines of their own, code as it stands, links as their words.
pub fn text(html: &str) -> String {
    flow::text(html)
}

/// The same on one line.
pub fn line(html: &str) -> String {
    text(html).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pieces_become_text() {
        for (html, wanted) in [
            ("plain", "plain"),
            (
                "a &amp; b &lt;T&gt; &#x27;c&#39; &hellip;&nbsp;d",
                "a & b <T> 'c' … d",
            ),
            ("<b>bold</b>er &amp;lt;", "bolder &lt;"),
            ("one<br>two<p>three</p>four", "one\ntwo\n\nthree\n\nfour"),
            ("<script>no()</script><style>p{}</style>yes", "yes"),
            (
                "<pre><code>fn a() {\n    b();\n}\n</code></pre>",
                "fn a() {\n    b();\n}",
            ),
            ("<ul><li>one</li><li>two</li></ul>", "- one\n- two"),
            ("", ""),
        ] {
            assert_eq!(text(html), wanted, "{html}");
        }
        assert_eq!(line("<p>a</p>\n<p>b</p>"), "a b");
    }

    #[test]
    fn depth_is_no_danger() {
        let deep = "<div>".repeat(100_000) + "end";
        assert!(text(&deep).ends_with("end"));
    }

    proptest! {
        #[test]
        fn anything_becomes_text(html in "(<[a-z/!]{0,8}[^>]{0,9}>?|&[a-z#0-9]{0,8};?|.{0,8}){0,30}") {
            let _ = text(&html);
        }
    }
}
