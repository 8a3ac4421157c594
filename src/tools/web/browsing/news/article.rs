//! An article of any source, and merging the articles of several sources.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;

use super::super::link;
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{clip, escape_controls};
use crate::formats::html;

/// Maximum characters of a title, of an outlet's name and of a description.
const MAX_TITLE_CHARS: usize = 300;
const MAX_OUTLET_CHARS: usize = 80;
const MAX_DESCRIPTION_CHARS: usize = 600;
/// Query parameters for tracking; also all that begin with `utm_`.
const TRACKING_PARAMETERS: [&str; 14] = [
    "fbclid", "gclid", "dclid", "msclkid", "yclid", "igshid", "mc_cid", "mc_eid", "cmpid", "ocid",
    "ref", "ref_src", "smid", "taid",
];

pub(super) struct Article {
    pub(super) title: String,
    pub(super) outlet: Option<String>,
    pub(super) time: Option<Timestamp>,
    pub(super) source: &'static str,
    pub(super) url: Option<String>,
    pub(super) description: String,
}

/// An article's fields as a source has them: HTML, or empty.
pub(super) struct RawArticle<'a> {
    pub(super) title: Option<&'a str>,
    pub(super) outlet: Option<&'a str>,
    pub(super) time: Option<Timestamp>,
    pub(super) url: Option<&'a str>,
    pub(super) description: Option<&'a str>,
}

impl RawArticle<'_> {
    /// The article; its description is the title when it has an address but no title. `None` without a title, and for one that its outlet withdrew.
    pub(super) fn article(self, source: &'static str) -> Option<Article> {
        let line = |text: Option<&str>, max| {
            let line = html::line(text.unwrap_or_default());
            clip(&escape_controls(&line), max)
        };
        let description = line(self.description, MAX_DESCRIPTION_CHARS);
        let title = match line(self.title, MAX_TITLE_CHARS) {
            title if title.is_empty() && self.url.is_some() => clip(&description, MAX_TITLE_CHARS),
            title => title,
        };
        if title.is_empty() || title == "[Removed]" {
            return None;
        }
        Some(Article {
            description: if description == title {
                String::new()
            } else {
                description
            },
            title,
            outlet: Some(line(self.outlet, MAX_OUTLET_CHARS)).filter(|name| !name.is_empty()),
            time: self.time,
            source,
            url: self.url.and_then(link::web_address),
        })
    }
}

impl fmt::Display for Article {
    /// Title, outlet, date and source, address, description, each on a line; unknown ones are omitted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n   ", self.title)?;
        if let Some(outlet) = &self.outlet {
            write!(f, "{outlet} · ")?;
        }
        if let Some(time) = self.time {
            write!(f, "{} UTC · ", time.strftime("%Y-%m-%d %H:%M"))?;
        }
        f.write_str(self.source)?;
        let url = self.url.as_deref().unwrap_or_default();
        for line in [url, &self.description] {
            if !line.is_empty() {
                write!(f, "\n   {line}")?;
            }
        }
        Ok(())
    }
}

/// The articles without duplicates, newest first, those without a date last.
pub(super) fn merge(articles: Vec<Article>) -> Vec<Article> {
    let mut addresses = BTreeSet::new();
    let mut titles: Vec<BTreeSet<String>> = Vec::new();
    let mut kept = Vec::new();
    for article in articles {
        let words = words(&article.title);
        if titles.iter().any(|other| are_similar(other, &words)) {
            continue;
        }
        if let Some(url) = &article.url
            && !addresses.insert(normalized(url))
        {
            continue;
        }
        titles.push(words);
        kept.push(article);
    }
    kept.shared_sort_by_key(|article| Reverse(article.time));
    kept
}

fn words(title: &str) -> BTreeSet<String> {
    title
        .to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// True when over 60 % of the words of the longer title are in the other one too.
fn are_similar(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    let shared = one.intersection(other).count();
    shared * 10 > one.len().max(other.len()) * 6
}

/// An address in the form that two sources have in common.
fn normalized(url: &str) -> String {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.split('#').next().unwrap_or_default();
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = place.split_once('/').unwrap_or((place, ""));
    let host = host.to_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    let own = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default().to_lowercase();
        !name.is_empty()
            && !name.starts_with("utm_")
            && !TRACKING_PARAMETERS.contains(&name.as_str())
    };
    let query: Vec<&str> = query.split('&').filter(own).collect();
    format!("{host}/{}?{}", path.trim_end_matches('/'), query.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn article(title: &str, url: &str, time: &str) -> Article {
        let raw = RawArticle {
            title: Some(title),
            outlet: None,
            time: time.parse().ok(),
            url: Some(url),
            description: None,
        };
        raw.article("Test").unwrap()
    }

    #[test]
    fn an_article_shows_what_is_known() {
        let raw = RawArticle {
            title: Some("Tides &amp; <b>currents</b>"),
            outlet: Some(" The\nCoast "),
            time: "2026-11-20T23:59:30+01:00".parse().ok(),
            url: Some("https://a.test/1\n2"),
            description: Some("<p>Two</p><p>parts</p>"),
        };
        assert_eq!(
            raw.article("GNews").unwrap().to_string(),
            "Tides & currents\n   The Coast · 2026-11-20 22:59 UTC · GNews\n   https://a.test/1%0A2\n   Two parts"
        );
        let bare = RawArticle {
            title: Some("Tides"),
            outlet: Some(" "),
            time: None,
            url: Some("javascript:alert(1)"),
            description: Some("Tides"),
        };
        assert_eq!(
            bare.article("GNews").unwrap().to_string(),
            "Tides\n   GNews"
        );
        for title in [None, Some(" "), Some("<b></b>"), Some("[Removed]")] {
            let raw = RawArticle {
                title,
                outlet: None,
                time: None,
                url: None,
                description: Some("x"),
            };
            assert!(raw.article("GNews").is_none(), "{title:?}");
        }
    }

    #[test]
    fn repetitions_are_dropped_and_the_newest_come_first() {
        let all = vec![
            article("Undated", "https://a.test/0", ""),
            article(
                "Old tide",
                "http://www.A.test/1/?utm_source=x&id=2#top",
                "2026-11-01T00:00:00Z",
            ),
            article(
                "Another name",
                "https://a.test/1?id=2&FBCLID=3",
                "2026-11-02T00:00:00Z",
            ),
            article(
                "Another page",
                "https://a.test/1?id=3",
                "2026-11-03T00:00:00Z",
            ),
            article(
                "Council backs tidal barrage",
                "https://b.test/",
                "2026-11-04T00:00:00Z",
            ),
            // Three of five words, and four of six.
            article(
                "Council rejects tidal barrage plan",
                "https://c.test/",
                "2026-11-05T00:00:00Z",
            ),
            article(
                "COUNCIL backs a tidal barrage: live",
                "https://d.test/",
                "2026-11-06T00:00:00Z",
            ),
            article("潮汐発電", "https://e.test/", "2026-11-07T00:00:00Z"),
            article("!?", "https://f.test/", "2026-11-08T00:00:00Z"),
            article("?!", "https://g.test/", "2026-11-09T00:00:00Z"),
        ];
        let titles: Vec<String> = merge(all).into_iter().map(|a| a.title).collect();
        assert_eq!(
            titles,
            [
                "?!",
                "!?",
                "潮汐発電",
                "Council rejects tidal barrage plan",
                "Council backs tidal barrage",
                "Another page",
                "Old tide",
                "Undated"
            ]
        );
    }
}
