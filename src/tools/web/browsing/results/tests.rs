//! Made-up result pages, with the defects of real ones.

use super::*;
use proptest::prelude::*;

fn hits(page: &str) -> Vec<(String, String, String)> {
    let hits = read(page).hits.into_iter();
    hits.map(|hit| (hit.title, hit.url, hit.snippet)).collect()
}

fn hit(title: &str, url: &str, snippet: &str) -> (String, String, String) {
    (title.to_owned(), url.to_owned(), snippet.to_owned())
}

#[test]
fn the_html_edition_is_parsed_by_blocks() {
    let page = r##"<!DOCTYPE html><title>tides</title><div id="links" class="results">
      <div class="result results_links result--ad"><h2 class="result__title">
        <a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=x.test">Buy tides</a></h2>
        <a class="result__snippet" href="https://duckduckgo.com/y.js?ad_domain=x.test">Cheap.</a></div>
      <div class="result web-result"><h2><a href='//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.test%2F%3Fb%3D1%26c%3D2&amp;rut=9' rel=nofollow
        class='result__a'>Tides &amp; <b>cur</b>rents</a></h2></div>
      <div class="web-result result"><h2 class="result__title"><a class=result__a href=https://b.test/>Second</a></h2>
        <a class="result__url" href="https://b.test/">b.test</a>
        <div class="result__snippet">Its <b>own</b><br>words &lt;here&gt;<script>no()</script>.</div>
        <a class="result__snippet" href="https://b.test/">Not these.</a></div>
      <div class="result"><span class="badge--ad">Ad</span><a class="result__a" href="https://paid.test/">Paid</a></div>
      <div class="result"><a class="result__a" href="https://b.test/">Second again</a></div>
      <div class="result"><a class="result__a" href="https://c.test/"><img src="x"></a><a class="result__snippet">Words
        <a class="other" href="#">more</a></div>
      <div class="nav-link"><a class="other" href="https://d.test/">Next</a></div></div>"##;
    assert_eq!(
        hits(page),
        [
            hit("Tides & currents", "https://a.test/?b=1&c=2", ""),
            hit("Second", "https://b.test/", "Its own words <here>."),
            hit("https://c.test/", "https://c.test/", "Words"),
        ]
    );
    let page = read(page);
    assert!(!page.robot && !page.none);
}

#[test]
fn the_lite_edition_is_parsed_by_rows() {
    let page = "<table><tr class='result-sponsored'><td>1.</td><td><a href='https://ads.test/' class='result-link'>Ad</a></td></tr>
      <tr class='result-sponsored'><td class='result-snippet'>Buy.</td></tr>
      <tr><td>2.</td><td><a rel=nofollow href=\"//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.test%2F&amp;rut=1\" class='result-link'>First</a>
      <tr class='result-sponsored'><td><a href='https://ads.test/2' class='result-link'>Ad</a></td></tr>
      <tr><td class='result-snippet'>Buy more.</td></tr>
      <tr><td>3.<td><a href='https://b.test/' class='result-link'>Second</a>
      <tr><td><td class='result-snippet'>Its own
      <tr><td><td><span class='link-text'>b.test</span> <span class='timestamp'>2026-11-20</span>
      <tr><td><a href='https://c.test/' class='result-link'>Third</a></td></tr></table>";
    assert_eq!(
        hits(page),
        [
            hit("First", "https://a.test/", ""),
            hit("Second", "https://b.test/", "Its own"),
            hit("Third", "https://c.test/", ""),
        ]
    );
}

#[test]
fn a_page_without_results_has_a_reason() {
    let said = |page: &str| {
        let page = read(page);
        (page.hits.len(), page.robot, page.none)
    };
    for page in [
        "<form id=challenge-form action='//duckduckgo.com/anomaly.js?a=b'></form>",
        "<div class='anomaly-modal__mask'></div>",
        "<script src='//duckduckgo.com/anomaly.js'></script>",
        "<a href='mailto:error-lite+1@duckduckgo.com'>email us</a>",
    ] {
        assert_eq!(said(page), (0, true, false), "{page}");
    }
    for page in [
        "<div class='result results_links result--no-result'><div class=no-results>x</div></div>",
        "<div class='no-results'>No results.</div>",
        "<td>No  more\nresults.</td>",
    ] {
        assert_eq!(said(page), (0, false, true), "{page}");
    }
    for page in [
        "",
        "{}",
        "<html><p>Hello, anomaly-modal and No results. in a text.</p></html>",
        "<title>No results.</title><script>'<div class=no-results>'</script><textarea><p class=no-results></textarea>",
    ] {
        assert_eq!(said(page), (0, false, false), "{page}");
    }
}

#[test]
fn large_pages_parse_in_linear_time() {
    let row =
        "<div class=result><a class=result__a href=https://a.test/N>T</a><a class=result__snippet>";
    let page: String = (0..500)
        .map(|n| row.replace('N', &n.to_string()) + &"word ".repeat(500))
        .collect();
    let found = read(&page).hits;
    assert_eq!(found.len(), MAX_RESULTS);
    assert!(
        found
            .iter()
            .all(|hit| hit.snippet.chars().count() == MAX_SNIPPET_CHARS + 1)
    );
    assert!(
        read(&("<div class=result><a class=result__a>".repeat(100_000)))
            .hits
            .is_empty()
    );
}

/// An expected result, and whether it is an advertisement.
type Made = (String, Option<String>, bool);

/// The same results as a page of the html edition and of the lite edition.
fn pages(made: &[Made], single: bool) -> [String; 2] {
    let quote = if single { '\'' } else { '"' };
    let attributes = |class: &str, n: usize| {
        let class = format!("class={quote}{class}{quote}");
        let href = format!(
            "href={quote}//duckduckgo.com/l/?uddg=https%3A%2F%2Fx.test%2F{n}&amp;rut={n}{quote}"
        );
        match n.is_multiple_of(2) {
            true => format!("{class} {href}"),
            false => format!("{href} {class}"),
        }
    };
    let (mut full, mut lite) = (String::new(), String::new());
    for (n, (title, snippet, paid)) in made.iter().enumerate() {
        let class = if *paid { "result--ad" } else { "web-result" };
        full += &format!(
            "<div class=\"result {class}\"><h2><a {}>{title}</a></h2>",
            attributes("result__a", n)
        );
        let row = if *paid {
            "<tr class='result-sponsored'>"
        } else {
            "<tr>"
        };
        lite += &format!(
            "{row}<td><a {}>{title}</a></td></tr>",
            attributes("result-link", n)
        );
        if let Some(snippet) = snippet {
            full += &format!("<a {}>{snippet}</a>", attributes("result__snippet", n));
            lite += &format!("{row}<td class=result-snippet>{snippet}</td></tr>");
        }
        full += "</div>";
    }
    [full, format!("<table>{lite}</table>")]
}

#[test]
fn results_contain_no_terminal_controls() {
    let page = "<div class=result><a class=result__a href=https://a.test/>T\u{1b}[31m\u{202d}</a><a class=result__snippet>S\u{202e}</a></div>";
    let wanted = hit("T[31m\\u{202d}", "https://a.test/", "S\\u{202e}");
    assert_eq!(hits(page), [wanted]);
}

proptest! {
    #[test]
    fn title_and_snippet_stay_with_their_result(
        made in prop::collection::vec(("[a-zäé]{1,8}( [a-z]{1,5})?", prop::option::of("[a-zß.,]{1,20}( [a-z]{1,9})?"), any::<bool>()), 0..12),
        single: bool,
    ) {
        let wanted: Vec<_> = made.iter().enumerate().filter(|(_, (.., paid))| !paid).map(|(n, (title, snippet, _))| {
            hit(title, &format!("https://x.test/{n}"), snippet.as_deref().unwrap_or_default())
        }).collect();
        for page in pages(&made, single) {
            prop_assert_eq!(hits(&page), wanted.clone(), "{}", page);
        }
    }

    #[test]
    fn any_page_is_read(page in "(<(div|a|tr|td|h2)( (class|href|id)=['\"]?(result|result__a|result__snippet|result-link|result-snippet|result-sponsored|//duckduckgo.com/l/\\?uddg=.{0,9}|https://a)['\"]?){0,2}>?|</[a-z2]{1,3}>|&#?[a-z0-9]{0,5};?|.{0,5}){0,30}") {
        for hit in read(&page).hits {
            prop_assert!(hit.url.starts_with("http") || hit.url.starts_with("HTTP"), "{}", hit.url);
            prop_assert!(!hit.url.contains(char::is_whitespace) && !hit.title.is_empty());
            prop_assert!(!hit.title.contains('\n') && !hit.snippet.contains('\n'));
        }
    }
}
