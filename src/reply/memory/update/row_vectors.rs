//! Vectors for entries of the diary that have none yet, some at each update.

use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;
use crate::reply::models::stage::StageModel;
use crate::reply::settings::ReplySettings;
use crate::store::memory::{MemoryStore, vector_text};

/// Entries of one request, and requests of one update: a diary that is there already gets its vectors over some updates.
const ROWS_OF_A_REQUEST: usize = 32;
const REQUESTS: usize = 8;

/// Asks for vectors of the newest entries without one, if a model for embeddings is set.
///
/// # Errors
/// The model, the lock or the disk; the search goes by words where vectors are missing.
pub(super) fn add(
    store: &MemoryStore,
    model: &dyn StageModel,
    settings: &ReplySettings,
    stop: &Cancel,
) -> Outcome<()> {
    let name = &settings.embed_model;
    if name.is_empty() {
        return Ok(());
    }
    for _ in 0..REQUESTS {
        stop.check()?;
        let rows = store.rows_without_vector(name, ROWS_OF_A_REQUEST)?;
        if rows.is_empty() {
            break;
        }
        let texts: Vec<String> = rows.iter().map(vector_text).collect();
        let vectors = model.embed(&texts)?;
        let added: Vec<_> = rows.into_iter().zip(vectors).collect();
        store.add_row_vectors(name, &added)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jiff::civil::date;

    use super::*;
    use crate::reply::testing::{Scripted, memory_store};
    use crate::store::memory::{DiaryRow, DiarySource, EraseTarget};

    const SUMMARIES: [&str; 3] = [
        "They sailed a small boat to the island.",
        "Bread needs a hot oven and patience.",
        "A hot oven again.",
    ];

    fn diary(home: &Path) -> MemoryStore {
        let store = memory_store(home);
        for (day, summary) in (1_i8..).zip(SUMMARIES) {
            let at = "2026-01-01T00:00:00Z".parse().unwrap();
            let row = DiaryRow::new(date(2026, 3, day), DiarySource::Text, summary, &[], at);
            store.diary_put(row).unwrap();
        }
        store
    }

    fn settings() -> ReplySettings {
        ReplySettings {
            embed_model: "nomic".to_owned(),
            ..ReplySettings::default()
        }
    }

    fn found(
        store: &MemoryStore,
        model: &dyn StageModel,
        near: &str,
        words: &[&str],
    ) -> Vec<String> {
        let vector = model.embed(&[near.to_owned()]).unwrap().remove(0);
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let rows = store.diary_search_near(&words, ("nomic", &vector), None, None, 1);
        rows.unwrap().into_iter().map(|row| row.summary).collect()
    }

    #[test]
    fn entries_are_found_by_what_they_are_about() {
        let home = tempfile::tempdir().unwrap();
        let (store, model) = (diary(home.path()), Scripted::new(&[]).with_vectors());
        let about = "a small boat and the island";
        assert_eq!(
            found(&store, &model, about, &[]),
            [] as [&str; 0],
            "no vectors yet"
        );
        add(&store, &model, &settings(), &Cancel::new()).unwrap();
        assert!(store.rows_without_vector("nomic", 9).unwrap().is_empty());
        // No word of the search is in the entry that is meant.
        assert_eq!(found(&store, &model, about, &["sea"]), [SUMMARIES[0]]);
        assert_eq!(
            found(&diary(home.path()), &model, about, &["sea"]),
            [SUMMARIES[0]]
        );
        // Words count too.
        assert_eq!(
            found(&store, &model, "hot oven", &["patience"]),
            [SUMMARIES[1]]
        );
    }

    #[test]
    fn vectors_go_with_what_is_erased_and_come_back_for_the_rest() {
        let home = tempfile::tempdir().unwrap();
        let (store, model) = (diary(home.path()), Scripted::new(&[]).with_vectors());
        let file = home.path().join("profiles/main/memory/vectors.json");
        add(&store, &model, &settings(), &Cancel::new()).unwrap();
        assert!(file.exists());
        store.erase(&EraseTarget::Word("boat".to_owned())).unwrap();
        assert!(!file.exists());
        add(&store, &model, &settings(), &Cancel::new()).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text.matches("\"hash\"").count(), 2, "{text}");
    }

    #[test]
    fn a_broken_file_is_set_aside_and_made_anew() {
        let home = tempfile::tempdir().unwrap();
        let (store, model) = (diary(home.path()), Scripted::new(&[]).with_vectors());
        let folder = home.path().join("profiles/main/memory");
        std::fs::write(folder.join("vectors.json"), "{\"version\":").unwrap();
        add(&store, &model, &settings(), &Cancel::new()).unwrap();
        assert!(store.take_warnings().concat().contains("vectors.json"));
        assert_eq!(found(&store, &model, SUMMARIES[0], &[]), [SUMMARIES[0]]);
    }

    #[test]
    fn nothing_is_asked_without_a_model_or_after_a_cancel() {
        let home = tempfile::tempdir().unwrap();
        let (store, model) = (diary(home.path()), Scripted::new(&[]).with_vectors());
        add(&store, &model, &ReplySettings::default(), &Cancel::new()).unwrap();
        let stop = Cancel::new();
        stop.fire();
        assert!(add(&store, &model, &settings(), &stop).is_err());
        assert!(add(&store, &Scripted::new(&[]), &settings(), &Cancel::new()).is_err());
        assert_eq!(store.rows_without_vector("nomic", 9).unwrap().len(), 3);
    }
}
