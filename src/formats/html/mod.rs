//! HTML as text: a browser's tokenizer removes markup and decodes entities, once.
//!
//! `tokens` reads tags, `flow` makes paragraphs of them, `part` picks a part of a page and its links. Called by the tools that read pages, and by
//! `super::feed` for summaries. It knows neither addresses nor how a page was fetched.

mod flow;
mod part;
mod tokens;

use crate::base::text::single_spaced;
use flow::TextFlow;
pub(crate) use part::{Links, PageLink, part};
pub use part::{Selector, ids};
pub use tokens::entities;
pub(crate) use tokens::{HtmlToken, OpenTag, read};

/// An HTML fragment (a snippet, an answer, a description) as text: blocks on lines of their own, lists with markers, table rows with `|` between cells, code
/// unchanged, links as their text.
pub fn text(html: &str) -> String {
    let mut flow = TextFlow::default();
    read(html, |piece| flow.take(&piece));
    flow.finish().0
}

/// A page as text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HtmlPage {
    /// Its title, on one line.
    pub title: Option<String>,
    /// Its text: as [`text`], with heading markers and the alternative text of images.
    pub text: String,
    /// Its links, if requested.
    pub links: Vec<PageLink>,
}

/// A whole page as text.
pub fn page(html: &str) -> HtmlPage {
    let mut flow = TextFlow::page();
    read(html, |piece| flow.take(&piece));
    let (text, title) = flow.finish();
    HtmlPage {
        title,
        text,
        links: Vec::new(),
    }
}

/// One element of a page as text, with its links, without the elements named in `without`. No selector means the whole page; `None` when no element
/// matches.
pub fn page_part(html: &str, only: Option<&Selector>, without: &[&str]) -> Option<HtmlPage> {
    let (mut flow, mut links) = (TextFlow::page(), Links::default());
    let found = part(html, only, without, |piece| {
        flow.take(piece);
        links.take(piece);
    });
    let (text, title) = flow.finish();
    found.then_some(HtmlPage {
        title,
        text,
        links: links.all,
    })
}

/// The title of a page, on one line.
pub fn title(html: &str) -> Option<String> {
    page(html).title
}

/// An HTML fragment as text on one line.
pub fn line(html: &str) -> String {
    single_spaced(&text(html))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_unterminated_tag_takes_linear_time() {
        let attributes: String = (0..150_000).map(|n| format!("a{n}=b ")).collect();
        let begun = crate::base::cpu_time::CpuTime::now();
        let page = page(&format!("<p>one<br {attributes}><p>two"));
        assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
        assert!(page.text.starts_with("one") && page.text.ends_with("two"));
        // A long but legitimate element is not cut.
        let (comment, data) = ("<p>no</p>'\"> ".repeat(100_000), "AAAA".repeat(100_000));
        let html = format!("<!--{comment}--><a href='data:,{data}'>one</a>");
        let page = page_part(&html, None, &[]).unwrap();
        assert_eq!((page.text.as_str(), page.links.len()), ("one", 1));
        assert_eq!(page.links.first().unwrap().href.len(), data.len() + 6);
    }

    #[test]
    fn attributes_and_code_contain_no_terminal_controls() {
        let html = "<a href='/x&#27;]8;;'>w<img alt='pic &#27;[31m\u{9b}m'></a><p id='i\u{7}d'>t<pre>a&#13;b&#12;c</pre>";
        let page = page_part(html, None, &[]).unwrap();
        assert_eq!(page.text, "wpic [31mm\n\nt\n\na b c");
        let link = page.links.first().unwrap();
        assert_eq!(
            (link.text.as_str(), link.href.as_str()),
            ("w pic [31mm", "/x]8;;")
        );
        assert_eq!(ids(html, 9), ["id"]);
    }

    #[test]
    fn fragments_become_text() {
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
            (
                "a<ol start=9><li><p>nine</p><p>more</p><li><p>ten<ul><li>in<li><br>too</ul></ol>b",
                "a\n\n9. nine\n\n  more\n10. ten\n  - in\n  - too\n\nb",
            ),
            ("<ul><li></li><li> </li></ul>x<li>loose", "x\n- loose"),
            (
                "<table><caption>T</caption><tr><th>Port<th>HW</tr><tr><td><p>Brest</p></td><td></td><td><div>05:01</div></td></tr>\
                 <tr><td></td><td>x</td><td></td></tr></table>end",
                "T\nPort | HW\nBrest | | 05:01\n| x\n\nend",
            ),
            (
                "<blockquote><p>one<br>two</p><pre>a\n b</pre></blockquote>three",
                "> one\n> two\n\n> a\n>  b\n\nthree",
            ),
            (
                "<dl><dt>term</dt><dd>meaning<br>more</dd><dt>other<dd>thing</dl>z",
                "term\n  meaning\n  more\nother\n  thing\n\nz",
            ),
            ("<h2>head</h2>a<img alt=pic>b", "head\n\nab"),
            ("", ""),
        ] {
            assert_eq!(text(html), wanted, "{html}");
        }
        assert_eq!(line("<p>a</p>\n<p>b</p>"), "a b");
    }

    #[test]
    fn entities_are_decoded_and_the_rest_is_unchanged() {
        for (text, wanted) in [
            ("plain", "plain"),
            ("a &lt;b&gt; &amp;amp; &eacute;&#8217;", "a <b> &amp; é’"),
            (
                "<b>x</b> a < b\n</title> &nope; & &",
                "<b>x</b> a < b\n</title> &nope; & &",
            ),
        ] {
            assert_eq!(entities(text), wanted);
        }
    }

    #[test]
    fn tags_are_read_as_a_browser_does() {
        let shown = |html: &str| {
            let mut shown = String::new();
            read(html, |piece| match piece {
                HtmlToken::Open(tag) => {
                    let of = |name| tag.attribute(name).unwrap_or("-").to_owned();
                    shown += &format!("<{} {} {}>", tag.name(), of("a"), of("b"));
                }
                HtmlToken::Close(name) => shown += &format!("</{name}>"),
                HtmlToken::Text(text) => shown += text,
            });
            shown
        };
        for (html, wanted) in [
            ("\u{feff}x", "x"),
            ("<P A=1 a=2 b='>'>", "<p 1 >>"),
            ("<p b a=&lt;&copy=1&copy;>", "<p <&copy=1© >"),
            ("</p a=1><p><br/>", "</p><p - -><br - ->"),
            (
                "<script><p>&lt;</SCRIPT >y",
                "<script - -><p>&lt;</script>y",
            ),
            (
                "<noscript><b></noscript>",
                "<noscript - -><b - -></noscript>",
            ),
            ("<noframes><b></noframes>", "<noframes - -><b></noframes>"),
            ("<title><b></p>&amp;</title>", "<title - -><b></p>&</title>"),
            ("a<!-- <p> -->b<!doctype html>c", "abc"),
            ("1 < 2 &notit; &#128; a\r\nb", "1 < 2 ¬it; € a\nb"),
            ("one<p two", "one"),
        ] {
            assert_eq!(shown(html), wanted, "{html}");
        }
    }

    #[test]
    fn a_page_has_a_title_and_signs() {
        let html = "<title> Tide\n tables &amp; more</title><svg><title>no</title></svg><h1>Tides</h1><h2> </h2>\
                    <p>see <img src=x alt='the chart'>now<img alt=''><img alt='*'><ul><li><h3>item</h3></ul>\
                    <noscript>without</noscript>";
        let page = page(html);
        assert_eq!(page.title.as_deref(), Some("Tide tables & more"));
        assert_eq!(
            page.text,
            "# Tides\n\nsee the chart now\n\n- item\n\nwithout"
        );
        assert_eq!(title(html), page.title);
        assert_eq!(title("<svg><title>x</title></svg>"), None);
        assert_eq!(title("<title> </title>"), None);
        assert_eq!(title("<title>a</title><title>b</title>").unwrap(), "a");
        let in_svg = "<title>a</title><svg><title>b</title></svg>";
        assert_eq!(title(in_svg).unwrap(), "a");
        let in_object = "<title></title><object><title>b</title></object>";
        assert_eq!(title(in_object), None);
    }

    #[test]
    fn a_selector_picks_a_part_and_drops_its_frame() {
        let html = "<title>t</title><nav id=n><a href=/>home</a></nav><div id=m class='a b'>one <div>two</div>\
                    <a href=' /x '>a <b>link</b> <img alt=pic></a><a name=y>no</a><footer>f</footer></div>three";
        let get = |selector: &str| {
            let selector = Selector::parse(selector).unwrap();
            page_part(html, Some(&selector), &["nav", "footer"]).map(|page| page.text)
        };
        for selector in ["#m", "div", "DIV#m.b", ".a.b"] {
            let text = get(selector).unwrap_or_default();
            assert_eq!(text, "one\ntwo\na link pic no", "{selector}");
        }
        assert_eq!(get("#none"), None);
        assert_eq!(get("nav").as_deref(), Some("home"));
        let whole = page_part(html, None, &["nav", "footer"]).unwrap();
        assert!(whole.text.starts_with("one") && whole.text.ends_with("three"));
        let (text, href) = ("a link pic".to_owned(), "/x".to_owned());
        assert_eq!(whole.links, [PageLink { text, href }]);
        assert_eq!(ids(html, 9), ["n", "m"]);
        for other in ["", "a b", "a > b", "#", "a..b", "[x]", "a:hover"] {
            assert_eq!(Selector::parse(other), None, "{other}");
        }
    }

    #[test]
    fn deep_nesting_does_not_overflow() {
        for open in [
            "<div>",
            "<ul><li>",
            "<blockquote>",
            "<table><tr><td>",
            "<td>",
        ] {
            let deep = open.repeat(100_000) + "end";
            let text = text(&deep);
            assert!(text.ends_with("end") && text.len() < 200, "{open}");
        }
        let row = "<table><tr>".to_owned() + &"<td>".repeat(100_000) + "end";
        assert!(text(&row).len() < 200);
        let page = page(&("<div id=x>".repeat(100_000) + "end"));
        assert_eq!(page.text, "end");
    }

    proptest! {
        #[test]
        fn any_input_becomes_text(html in "(<[a-z/!]{0,8}[^>]{0,9}>?|&[a-z#0-9]{0,8};?|.{0,8}){0,30}") {
            let text = text(&html);
            prop_assert_eq!(text.chars().filter(|c| *c == '\x1b').count(), 0);
            prop_assert_eq!(text.trim_end(), &text);
            let _ = page_part(&html, Selector::parse("b").as_ref(), &["nav"]);
        }

        #[test]
        fn every_word_appears_once(pieces in proptest::collection::vec(("(<[/]?(p|div|ul|ol|li|table|tr|td|th|dl|dd|dt|blockquote|h1|b|br|a)>){0,3}", "[a-z]{1,5}"), 0..20)) {
            let html: String = pieces.iter().map(|(tags, word)| format!("{tags} {word} ")).collect();
            let words = |text: &str| -> Vec<String> {
                text.split_whitespace()
                    .filter(|word| word.chars().all(|c| c.is_ascii_lowercase()))
                    .map(str::to_owned)
                    .collect()
            };
            let wanted: Vec<String> = pieces.into_iter().map(|(_, word)| word).collect();
            prop_assert_eq!(words(&text(&html)), wanted.clone());
            prop_assert_eq!(words(&page(&html).text), wanted);
        }
    }
}
