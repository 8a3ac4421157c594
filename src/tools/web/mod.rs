//! Module `web`: pages of the web as text.

mod browse;
mod driver;
mod fetch;
mod lynx;
mod menu;
pub mod pages;
mod scrape;

use super::READ;

crate::choice! {
    /// What to take from a page.
    pub enum Extract {
        /// Its visible text.
        Text = "text",
        /// Its lines with prices.
        Menu = "menu",
        /// Its links.
        Links = "links",
    }
}

impl From<Extract> for serde_json::Value {
    fn from(what: Extract) -> Self {
        what.word().into()
    }
}

impl Extract {
    fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Menu => "menu",
            Self::Links => "links",
        }
    }
}

crate::tools! { "web";
    /// Read one page as text.
    browse_web(BrowseWeb; READ.seconds(15).service("lynx")) {
        /// page address
        url: String, example: "https://example.org/";
        /// characters to return
        max_length: u32 = 4000, min: 1, max: 8000, alias: &["max_chars", "limit"];
        /// offset for continued reading
        start_index: u32 = 0, min: 0, alias: &["offset", "start"];
    } => browse::page, says ["browse {url}", "open the page {url}", "read the page {url}"];

    /// Load a page in headless Firefox and extract content.
    scrape_page(ScrapePage; READ.seconds(60).slow().service("webdriver (geckodriver + firefox)")) {
        /// page address
        url: String, example: "https://example.org/";
        /// what to pull out
        extract: Extract = Extract::Text;
        /// limit to one element
        css_selector: String = "", alias: &["selector"];
        /// characters to return
        max_length: u32 = 4000, min: 1, max: 8000, alias: &["max_chars", "limit"];
    } => scrape::page, says ["scrape {url}", "scrape the page {url}"];
}

/// The first `most` characters of `text` from character `start` on, and how many there are.
fn window(text: &str, start: usize, most: usize) -> (&str, usize) {
    let total = text.chars().count();
    let at = |n: usize| {
        let place = text.char_indices().nth(n).map(|(at, _)| at);
        place.unwrap_or(text.len())
    };
    let shown = text.get(at(start)..at(start.saturating_add(most)));
    (shown.unwrap_or_default(), total)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_window_counts_characters() {
        let text = "aé€😀b";
        for (start, most, want) in [
            (0, 2, "aé"),
            (2, 2, "€😀"),
            (4, 9, "b"),
            (5, 1, ""),
            (9, 1, ""),
        ] {
            assert_eq!(super::window(text, start, most), (want, 5));
        }
        assert_eq!(super::window(text, 1, usize::MAX).0, "é€😀b");
    }
}
