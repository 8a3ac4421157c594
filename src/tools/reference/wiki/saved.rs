//! Articles on disk: one text file each, and an index of the names that lead to them (redirects change a title).

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::title::Title;
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::disk::atomic::{self, Access};
use crate::disk::lock;

/// Bytes of an article that is read, at most.
const MAX_ARTICLE_BYTES: u64 = 64 << 20;
/// Waiting for another Marvin that saves an article.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);
/// Names that are remembered for one article.
const NAMES: usize = 50;

/// A saved article.
#[derive(Debug)]
pub(super) struct SavedArticle {
    pub(super) title: String,
    pub(super) url: Option<String>,
    pub(super) text: String,
}

/// Saves the text of `title` below `dir`, to be found by `asked` too. Returns the file.
pub(super) fn save(
    dir: &Path,
    asked: &Title,
    title: &Title,
    url: Option<&str>,
    text: &str,
) -> Outcome<PathBuf> {
    let name = title.file();
    let path = dir.join(&name);
    // After a power cut it can be fetched again.
    atomic::replace(&path, text.as_bytes(), Access::Private)?;
    lock::update(&index(dir), LOCK_TIMEOUT, |before| {
        let mut articles = before.as_deref().map(articles).unwrap_or_default();
        let mut names: Vec<String> = articles
            .get(&name)
            .map(|old| old.texts("names").into_iter().map(str::to_owned).collect())
            .unwrap_or_default();
        // A name that resolves here no longer resolves elsewhere.
        for other in articles.values_mut() {
            if let Some(Value::Array(list)) = other.get_mut("names") {
                list.retain(|own| own.as_str() != Some(&asked.folded()));
            }
        }
        for own in [title.folded(), asked.folded()] {
            names.retain(|name| *name != own);
            names.insert(0, own);
        }
        names.truncate(NAMES);
        let entry = json!({"title": title.to_string(), "url": url, "names": names});
        articles.insert(name.clone(), entry);
        let bytes = serde_json::to_vec_pretty(&Value::Object(articles))
            .map_err(|why| Problem::internal(format!("The index cannot be written: {why}.")))?;
        Ok(Some(bytes))
    })?;
    Ok(path)
}

/// The saved article of that name.
///
/// # Errors
/// `Missing` when it was not saved, with the names of those that were; it cannot be read.
pub(super) fn find(dir: &Path, asked: &Title) -> Outcome<SavedArticle> {
    let known = atomic::read(&index(dir), MAX_ARTICLE_BYTES)?;
    let articles = known.as_deref().map(articles).unwrap_or_default();
    let folded = asked.folded();
    let named = articles
        .iter()
        .find(|(_, entry)| entry.texts("names").contains(&folded.as_str()));
    let file = named.map_or_else(|| asked.file(), |(file, _)| file.clone());
    // The index is a file like any other: what it names must lie here.
    let here = !file.contains('/') && !file.starts_with('.');
    let text = match here {
        true => atomic::read_text(&dir.join(&file), MAX_ARTICLE_BYTES)?,
        false => None,
    };
    let Some(text) = text else {
        let titles: Vec<&str> = articles
            .values()
            .filter_map(|entry| entry.text("title"))
            .collect();
        return Err(unsaved(asked, &titles));
    };
    Ok(SavedArticle {
        title: named
            .and_then(|(_, entry)| entry.text("title"))
            .map_or_else(|| asked.to_string(), str::to_owned),
        url: named
            .and_then(|(_, entry)| entry.text("url"))
            .map(str::to_owned),
        text,
    })
}

fn unsaved(asked: &Title, titles: &[&str]) -> Problem {
    let problem = Problem::missing(format!("The article \"{asked}\" is not saved yet."))
        .next(format!("Call wiki_full with the title \"{asked}\" first."));
    match crate::base::text::did_you_mean(&asked.to_string(), titles.iter().copied()) {
        Some(near) => problem.next(crate::base::text::capitalize(&near)),
        None => problem,
    }
}

fn index(dir: &Path) -> PathBuf {
    dir.join("index.json")
}

/// The index's entries by file; a corrupt index is rebuilt, because it can be.
fn articles(bytes: &[u8]) -> Map<String, Value> {
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(text: &str) -> Title {
        Title::new(text).unwrap()
    }

    #[test]
    fn an_article_is_found_by_every_name_that_led_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("wiki");
        let (asked, mill) = (title("tidemill"), title("Tide mill"));
        let path = save(
            &dir,
            &asked,
            &mill,
            Some("https://w.test/Tide_mill"),
            "Water.",
        )
        .unwrap();
        assert!(path.ends_with("Tide mill.txt"));
        save(&dir, &title("Tide mills"), &mill, None, "More water.").unwrap();
        for name in ["Tidemill", "tide_mill", "TIDE MILL", "Tide mills"] {
            let saved = find(&dir, &title(name)).unwrap();
            assert_eq!(
                (saved.title.as_str(), saved.text.as_str()),
                ("Tide mill", "More water.")
            );
        }
        let problem = find(&dir, &title("Tide mile")).unwrap_err();
        assert!(problem.one_line().contains("wiki_full"));
        assert!(
            problem.one_line().contains("Did you mean \"Tide mill\"?"),
            "{}",
            problem.one_line()
        );
        // The redirect changes its target later.
        save(&dir, &asked, &title("Mill"), None, "Flour.").unwrap();
        assert_eq!(find(&dir, &asked).unwrap().text, "Flour.");
        assert_eq!(find(&dir, &mill).unwrap().text, "More water.");
    }

    #[test]
    fn a_broken_index_costs_nothing_but_itself() {
        let dir = tempfile::tempdir().unwrap();
        let mill = title("Tide mill");
        save(dir.path(), &mill, &mill, None, "Water.").unwrap();
        for broken in [
            "",
            "[]",
            "{\"../../etc/passwd\": {\"names\": [\"x\"]}}",
            "{\"a\": 1}",
            "\u{0}",
        ] {
            std::fs::write(dir.path().join("index.json"), broken).unwrap();
            assert_eq!(find(dir.path(), &mill).unwrap().text, "Water.", "{broken}");
            assert!(find(dir.path(), &title("x")).is_err(), "{broken}");
        }
        save(dir.path(), &title("tm"), &mill, None, "Water.").unwrap();
        assert_eq!(find(dir.path(), &title("TM")).unwrap().title, "Tide mill");
    }
}
