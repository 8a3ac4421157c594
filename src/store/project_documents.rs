//! The documents of a project as prompts hold them: whole where there is room, else to the end of a line, with a mark that says where to read on.

use std::fs;
use std::io::Read;

use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{head, thousands};
use crate::disk::beneath::Root;

/// Bytes of all documents together: they are part of every request.
const MAX_BYTES: usize = 60_000;

/// Those of `names` that the project has, with their texts.
pub(crate) fn documents<'a>(root: &Root, names: &[&'a str]) -> Vec<(&'a str, String)> {
    let found: Vec<(&str, u64, String)> = names
        .iter()
        .filter_map(|name| read(root, name).map(|(len, text)| (*name, len, text)))
        .collect();
    let sizes: Vec<usize> = found.iter().map(|(_, _, text)| text.len()).collect();
    found
        .into_iter()
        .zip(shares(&sizes, MAX_BYTES))
        .map(|((name, len, text), share)| (name, cut(name, &text, len, share)))
        .collect()
}

/// Size and beginning of an ordinary file of the project; `None` when it is absent, without text, or a link out of the project.
fn read(root: &Root, rel: &str) -> Option<(u64, String)> {
    // Usually the file is absent, and the check of a path looks at the whole tree.
    fs::symlink_metadata(root.path().join(rel)).ok()?;
    let file = root.open_read(&root.check(rel).ok()?).ok()?;
    let len = file.metadata().ok()?.len();
    let mut bytes = Vec::new();
    // One byte more shows that there is more.
    file.take(MAX_BYTES as u64 + 4)
        .read_to_end(&mut bytes)
        .ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (!text.trim().is_empty()).then_some((len, text))
}

/// How much of `total` each of the texts gets: an equal share, and of what short ones leave over as much as the long ones can use.
fn shares(sizes: &[usize], total: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    let size = |at: usize| sizes.get(at).copied().unwrap_or_default();
    order.shared_sort_by_key(|at| size(*at));
    let mut shares = vec![0; sizes.len()];
    let mut left = total;
    for (done, at) in order.iter().enumerate() {
        let share = (left / (sizes.len() - done)).min(size(*at));
        left -= share;
        if let Some(slot) = shares.get_mut(*at) {
            *slot = share;
        }
    }
    shares
}

/// The first `most` bytes of a document of `len` bytes, to the end of a line where lines are not endless.
fn cut(name: &str, text: &str, len: u64, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let kept = head(text, most);
    let end = kept.rfind('\n').map_or(0, |at| at + 1);
    let kept = match end >= kept.len() / 2 {
        true => kept.get(..end).unwrap_or(kept),
        false => kept,
    };
    let from = kept.matches('\n').count() + 1;
    format!(
        "{}\n[Cut here: {name} has {} bytes. Read the rest with read_file, from start_line {from} on.]",
        kept.trim_end_matches('\n'),
        thousands(len)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use crate::disk::paths::PROJECT_DOCUMENTS;

    #[test]
    fn short_texts_leave_their_room_to_long_ones() {
        for (sizes, expected) in [
            (&[][..], &[][..]),
            (&[10, 20], &[10, 20]),
            (&[67, 10, 12], &[38, 10, 12]),
            (&[100, 100, 100], &[20, 20, 20]),
            (&[100, 5, 100], &[28, 5, 27]),
            (&[0, 100], &[0, 60]),
        ] {
            let mut found = shares(sizes, 60);
            // Which of two equal ones gets the odd byte does not matter.
            found.sort_unstable();
            let mut expected = expected.to_vec();
            expected.sort_unstable();
            assert_eq!(found, expected, "{sizes:?}");
        }
    }

    #[test]
    fn a_long_document_is_cut_at_a_line_and_leaves_room_for_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        fs::create_dir(dir.path().join(".marvin")).unwrap();
        let put = |name: &str, text: &str| {
            fs::write(dir.path().join(".marvin").join(name), text).unwrap();
        };
        let lines: String = (1..=3_350)
            .map(|n| format!("Line {n:05} here is.\n"))
            .collect();
        assert_eq!(lines.len(), 67_000);
        put("spec.md", &lines);
        put("ux.md", &"u".repeat(10_000));
        put("design.md", &"d".repeat(12_000));
        let found = documents(&root, &PROJECT_DOCUMENTS);
        let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert!(
            texts[0].ends_with(
                "Line 01900 here is.\n[Cut here: .marvin/spec.md has 67,000 bytes. Read the rest with read_file, from start_line 1901 on.]"
            ),
            "{}",
            &texts[0][37_000..]
        );
        assert_eq!((texts[1].len(), texts[2].len()), (10_000, 12_000));
        // Alone it has the room of all.
        let alone = documents(&root, &PROJECT_DOCUMENTS[..1]);
        assert!(alone[0].1.contains("Line 03000"));
    }

    #[test]
    fn a_line_without_end_is_cut_between_characters() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".marvin")).unwrap();
        fs::write(dir.path().join(".marvin/spec.md"), "é".repeat(40_000)).unwrap();
        let found = documents(&Root::open(dir.path()).unwrap(), &PROJECT_DOCUMENTS);
        assert_has(
            &found[0].1,
            &["é\n[Cut here: .marvin/spec.md has 80,000 bytes."],
        );
        assert!(found[0].1.contains("from start_line 1 on"));
    }
}
