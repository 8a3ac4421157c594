//! Saved articles: one text file each, and an index of the names that lead to them (redirects change a title).

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::title::Title;
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::disk::atomic::{self, Access};
use crate::disk::lock;

/// Maximum size of an article.
const MAX_ARTICLE_BYTES: u64 = 64 << 20;
/// How long to wait for another Marvin process that is saving an article.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum names kept for one article.
const MAX_NAMES: usize = 50;

#[derive(Debug)]
pub(super) struct SavedArticle {
    pub(super) title: String,
    pub(super) url: Option<String>,
    pub(super) text: String,
}

/// Saves the text of `title` below `dir`; it can be found by `requested` too. Returns the file.
pub(super) fn save(
    dir: &Path,
    requested: &Title,
    title: &Title,
    url: Option<&str>,
    text: &str,
) -> Outcome<PathBuf> {
    let name = title.file();
    let path = dir.join(&name);
    // Not synced: after a power cut it can be fetched again.
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
                list.retain(|own| own.as_str() != Some(&requested.comparison_key()));
            }
        }
        for own in [title.comparison_key(), requested.comparison_key()] {
            names.retain(|name| *name != own);
            names.insert(0, own);
        }
        names.truncate(MAX_NAMES);
        let entry = json!({"title": title.to_string(), "url": url, "names": names});
        articles.insert(name.clone(), entry);
        let bytes = serde_json::to_vec_pretty(&Value::Object(articles))
            .map_err(|error| Problem::internal(format!("The index cannot be written: {error}.")))?;
        Ok(Some(bytes))
    })?;
    Ok(path)
}

/// The saved article with that name.
///
/// # Errors
/// `Missing` when it was not saved, with the names of the saved ones; it cannot be read.
pub(super) fn find(dir: &Path, requested: &Title) -> Outcome<SavedArticle> {
    let known = atomic::read(&index(dir), MAX_ARTICLE_BYTES)?;
    let articles = known.as_deref().map(articles).unwrap_or_default();
    let folded = requested.comparison_key();
    let named = articles
        .iter()
        .find(|(_, entry)| entry.texts("names").contains(&folded.as_str()));
    let file = named.map_or_else(|| requested.file(), |(file, _)| file.clone());
    // The index is an ordinary file: what it names must be in this folder.
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
        return Err(unsaved(requested, &titles));
    };
    Ok(SavedArticle {
        title: named
            .and_then(|(_, entry)| entry.text("title"))
            .map_or_else(|| requested.to_string(), str::to_owned),
        url: named
            .and_then(|(_, entry)| entry.text("url"))
            .map(str::to_owned),
        text,
    })
}

fn unsaved(requested: &Title, titles: &[&str]) -> Problem {
    Problem::missing(format!("The article \"{requested}\" is not saved yet."))
        .next(format!(
            "Call wiki_full with the title \"{requested}\" first."
        ))
        .near(&requested.to_string(), titles.iter().copied())
}

fn index(dir: &Path) -> PathBuf {
    dir.join("index.json")
}

/// The index's entries by file; a corrupt index is rebuilt.
fn articles(bytes: &[u8]) -> Map<String, Value> {
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;

    fn title(text: &str) -> Title {
        Title::new(text).unwrap()
    }

    #[test]
    fn an_article_is_found_by_all_its_names() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("wiki");
        let (requested, mill) = (title("tidemill"), title("Tide mill"));
        let path = save(
            &dir,
            &requested,
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
        assert_has(&problem.one_line(), &["Did you mean \"Tide mill\"?"]);
        // The redirect changes its target later.
        save(&dir, &requested, &title("Mill"), None, "Flour.").unwrap();
        assert_eq!(find(&dir, &requested).unwrap().text, "Flour.");
        assert_eq!(find(&dir, &mill).unwrap().text, "More water.");
    }

    #[test]
    fn a_corrupt_index_is_rebuilt() {
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
