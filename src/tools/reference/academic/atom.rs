//! Parses papers from arXiv's Atom feeds, independent of element order and namespace prefixes.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::formats::html;
use crate::tools::output::untrusted::line;

/// Maximum element depth; deeper elements are not read.
const MAX_DEPTH: usize = 64;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PaperFeed {
    pub(super) total: Option<u64>,
    pub(super) papers: Vec<Paper>,
    /// Why there are no papers: arXiv reports errors as entries.
    pub(super) error: Option<String>,
}

/// One entry, its texts on one line each.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Paper {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) summary: String,
    pub(super) authors: Vec<String>,
    pub(super) published: String,
    pub(super) updated: String,
    /// The page with the abstract.
    pub(super) page: String,
    pub(super) pdf: String,
    pub(super) categories: Vec<String>,
    pub(super) doi: String,
    pub(super) journal: String,
    pub(super) comment: String,
}

impl Paper {
    /// True for a withdrawn paper: stated at the beginning of its abstract, or in its comment.
    pub(super) fn is_withdrawn(&self) -> bool {
        let start: String = self.summary.chars().take(120).collect();
        let start = start.to_lowercase();
        // Other things are withdrawn too: troops, water, drugs.
        let paper = |before: &str| {
            let works = [
                "paper",
                "article",
                "submission",
                "manuscript",
                "preprint",
                "work",
            ];
            before.trim().is_empty() || works.iter().any(|own| before.contains(own))
        };
        start
            .split_once("withdrawn")
            .is_some_and(|(before, _)| paper(before))
            || self.comment.to_lowercase().contains("withdrawn")
    }
}

/// Reads a feed; `None` for anything else, and for a feed that is cut off before any content.
pub(super) fn read(text: &str) -> Option<PaperFeed> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    let mut reading = AtomReader::default();
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => reading.open(&tag),
            Ok(Event::Empty(tag)) => {
                reading.open(&tag);
                reading.close();
            }
            Ok(Event::End(_)) => reading.close(),
            Ok(Event::Text(text)) => reading.text(&text),
            Ok(Event::CData(text)) => reading.text(&text),
            Ok(Event::GeneralRef(name)) => reading.text(&html::text(&format!("&{};", &*name))),
            Ok(Event::Eof) => return reading.finish(true),
            Err(_) => return reading.finish(false),
            Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => {}
        }
    }
}

#[derive(Default)]
struct AtomReader {
    feed: PaperFeed,
    /// Names of the open elements, without prefixes.
    open: Vec<String>,
    /// Number of open elements that are too deep to be recorded.
    deeper: usize,
    paper: Paper,
    text: String,
    seen: bool,
}

impl AtomReader {
    fn open(&mut self, tag: &BytesStart<'_>) {
        if self.open.len() == MAX_DEPTH {
            self.deeper += 1;
            return;
        }
        let name = tag.local_name().into_inner().to_owned();
        self.seen |= self.open.is_empty() && name == "feed";
        match name.as_str() {
            "entry" => self.paper = Paper::default(),
            "link" => self.link(tag),
            "category" => {
                if let Some(term) = attribute(tag, "term")
                    && !self.paper.categories.contains(&term)
                {
                    self.paper.categories.push(term);
                }
            }
            // The primary category comes first.
            "primary_category" => {
                if let Some(term) = attribute(tag, "term") {
                    self.paper.categories.retain(|own| *own != term);
                    self.paper.categories.insert(0, term);
                }
            }
            _ => {}
        }
        // Markup inside a text (a formula, a line break) does not end it.
        if !self.in_text() {
            self.text.clear();
        }
        self.open.push(name);
    }

    /// True inside the title or the abstract of an entry.
    fn in_text(&self) -> bool {
        let inside = self.open.iter().skip(2).take(1);
        inside.into_iter().any(|n| n == "title" || n == "summary")
    }

    fn link(&mut self, tag: &BytesStart<'_>) {
        let Some(href) = attribute(tag, "href") else {
            return;
        };
        let is = |name: &str, wanted: &str| attribute(tag, name).is_some_and(|own| own == wanted);
        if is("title", "pdf") || is("type", "application/pdf") {
            self.paper.pdf = href;
        } else if attribute(tag, "rel").is_none_or(|rel| rel == "alternate") {
            self.paper.page = href;
        }
    }

    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn close(&mut self) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        let Some(name) = self.open.pop() else {
            return;
        };
        let path: Vec<&str> = self.open.iter().map(String::as_str).collect();
        let paper = &mut self.paper;
        let place = match (path.as_slice(), name.as_str()) {
            (["feed"], "totalResults") => {
                self.feed.total = self.text.trim().parse().ok();
                return;
            }
            (["feed"], "entry") => return self.entry(),
            (["feed", "entry", "author"], "name") => {
                let name = line(&self.text);
                if !name.is_empty() {
                    paper.authors.push(name);
                }
                return;
            }
            (["feed", "entry"], "id") => &mut paper.id,
            (["feed", "entry"], "title") => &mut paper.title,
            (["feed", "entry"], "summary") => &mut paper.summary,
            (["feed", "entry"], "published") => &mut paper.published,
            (["feed", "entry"], "updated") => &mut paper.updated,
            (["feed", "entry"], "doi") => &mut paper.doi,
            (["feed", "entry"], "journal_ref") => &mut paper.journal,
            (["feed", "entry"], "comment") => &mut paper.comment,
            _ => return,
        };
        *place = line(&self.text);
    }

    fn entry(&mut self) {
        let mut paper = std::mem::take(&mut self.paper);
        if paper.id.contains("/api/errors") || (paper.title == "Error" && paper.pdf.is_empty()) {
            let reason = std::mem::take(&mut paper.summary);
            self.feed.error.get_or_insert(reason);
            return;
        }
        if paper.page.is_empty() {
            paper.page.clone_from(&paper.id);
        }
        if !(paper.title.is_empty() && paper.page.is_empty()) {
            self.feed.papers.push(paper);
        }
    }

    /// The feed; a feed that is cut off counts with what it contains, but not as an empty one.
    fn finish(self, whole: bool) -> Option<PaperFeed> {
        let whole = whole && self.open.is_empty();
        let says = !self.feed.papers.is_empty() || self.feed.error.is_some();
        (self.seen && (whole || says)).then_some(self.feed)
    }
}

/// An attribute's value with its entities decoded.
fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = tag
        .attributes()
        .with_checks(false)
        .flatten()
        .find(|own| own.key.local_name().into_inner() == name)?;
    let value = line(&html::text(&found.value));
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &str = r#"<feed xmlns="http://www.w3.org/2005/Atom" xmlns:o="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom"><title>The feed's own</title><id>https://x.test/own</id><updated>2026-01-01</updated><o:totalResults> 7 </o:totalResults>"#;

    fn feed(entries: &str) -> PaperFeed {
        read(&format!("{HEAD}{entries}</feed>")).unwrap()
    }

    #[test]
    fn an_entry_gives_a_paper_in_any_order() {
        let got = feed(
            r#"<entry><link type="application/pdf" title="pdf" rel="related" href="https://x.test/pdf/1?a=1&amp;b=2"/>
            <arxiv:doi>10.1/x</arxiv:doi><category term="math.CO"/><category term="cs.SE"></category><arxiv:primary_category term="cs.SE"/>
            <title>On &lt;i&gt; &amp; the
               $\alpha_1$ &#x3b2; caf&eacute;</title>
            <author><name> A. One </name><arxiv:affiliation>Nowhere</arxiv:affiliation></author><author><name>B&#233; Two</name></author>
            <summary><![CDATA[ a < b ]]> and more</summary><id>http://x.test/abs/1v2</id>
            <link href="https://x.test/abs/1v2" rel="alternate"/><link rel="related" href="https://doi.test/" title="doi"/>
            <updated>2024-02-03T00:00:00Z</updated><published>2023-02-03T00:00:00Z</published>
            <arxiv:comment>5 pages</arxiv:comment><arxiv:journal_ref>J 1</arxiv:journal_ref></entry>"#,
        );
        assert_eq!((got.total, got.error), (Some(7), None));
        let text = |text: &str| text.to_owned();
        assert_eq!(
            got.papers,
            [Paper {
                id: text("http://x.test/abs/1v2"),
                title: text("On <i> & the $\\alpha_1$ β café"),
                summary: text("a < b and more"),
                authors: vec![text("A. One"), text("Bé Two")],
                published: text("2023-02-03T00:00:00Z"),
                updated: text("2024-02-03T00:00:00Z"),
                page: text("https://x.test/abs/1v2"),
                pdf: text("https://x.test/pdf/1?a=1&b=2"),
                categories: vec![text("cs.SE"), text("math.CO")],
                doi: text("10.1/x"),
                journal: text("J 1"),
                comment: text("5 pages"),
            }]
        );
    }

    #[test]
    fn odd_entries_are_papers_and_errors_are_not() {
        let got = feed(
            "<entry><id>http://x.test/abs/2</id><title>0</title><author/><summary>This paper has been withdrawn by its authors.</summary></entry>\
             <entry><id>http://x.test/abs/3</id><title>Error</title><link title='pdf' href='https://x.test/pdf/3'/></entry>\
             <entry><id>http://x.test/abs/4</id><title>Bold <b>words</b> stay</title><summary>Troops were withdrawn in 1990.</summary></entry><entry/>",
        );
        let titles: Vec<&str> = got.papers.iter().map(|p| p.title.as_str()).collect();
        assert_eq!(titles, ["0", "Error", "Bold words stay"]);
        let withdrawn: Vec<bool> = got.papers.iter().map(|p| p.is_withdrawn()).collect();
        assert_eq!(withdrawn, [true, false, false]);
        assert_eq!(got.papers[0].page, "http://x.test/abs/2");
        let got = feed(
            "<entry><id>https://x.test/api/errors#bad</id><title>Error</title><summary>bad\nid</summary></entry>",
        );
        assert_eq!(
            (got.papers.len(), got.error.as_deref()),
            (0, Some("bad id"))
        );
    }

    #[test]
    fn anything_else_is_not_a_feed() {
        for text in [
            "",
            "Rate exceeded.",
            "<html><body>busy</body></html>",
            "{\"a\": 1}",
            "<feed>",
            "<feed><o:totalResults>0",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(
            feed(""),
            PaperFeed {
                total: Some(7),
                ..PaperFeed::default()
            }
        );
        let cut = "<entry><id>1</id><title>whole</title></entry><entry><id>2</id><tit";
        assert_eq!(read(&format!("{HEAD}{cut}")).unwrap().papers.len(), 1);
        let deep = format!("{HEAD}{}", "<a>".repeat(100_000));
        assert_eq!(read(&deep), None);
    }

    proptest! {
        #[test]
        fn any_text_is_accepted(text in "(<(feed|entry|title|link href='a'|/title|/entry|[a-z:]{0,5})/?>|&#?[a-z0-9]{0,4};?|<!\\[CDATA\\[|\\]\\]>|.{0,6}){0,40}") {
            let _ = read(&text);
            let _ = read(&format!("{HEAD}<entry>{text}"));
        }

        #[test]
        fn a_written_feed_is_read_back(title in "[^\\p{C}\\p{Z}]{1,12}( [^\\p{C}\\p{Z}]{1,12}){0,3}", total in 0u64..u64::MAX) {
            let escaped = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let xml = format!("<feed><totalResults>{total}</totalResults><entry><title>{escaped}</title></entry></feed>");
            let got = read(&xml).unwrap();
            prop_assert_eq!(got.total, Some(total));
            prop_assert_eq!(&got.papers[0].title, &title);
        }
    }
}
