//! Files that a message names with `@path`: their text goes to the model with it, under the read budget.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::base::marks::enclosed;
use crate::base::open;
use crate::base::text;
use crate::tools::context::{READ_STOP, READ_WARN, World};

/// Most bytes of one file.
const EACH: usize = 100_000;

/// `said`, followed by the files it names. A name that is no file is left as it is: it may be a person.
pub(super) fn with_files(said: &str, world: &World, notice: &mut dyn FnMut(String)) -> String {
    let mut out = said.to_owned();
    for name in names(said) {
        let path = place(&name, world);
        let Ok(meta) = fs::metadata(&path) else {
            continue;
        };
        if meta.is_dir() {
            out.push_str(&block(&name, "folder", &listing(&path)));
            continue;
        }
        match read(&path, &meta, world) {
            Ok(content) => out.push_str(&block(&name, "file", &content)),
            Err(why) => notice(format!("@{} is not attached: {why}", text::visible(&name))),
        }
    }
    out
}

/// The words after an `@` at the beginning of a word; in quotes when they have blanks.
fn names(said: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut rest = said;
    let mut before = None;
    while let Some(at) = rest.find('@') {
        let starts = rest
            .get(..at)
            .unwrap_or_default()
            .chars()
            .next_back()
            .or(before)
            .is_none_or(char::is_whitespace);
        let after = rest.get(at + 1..).unwrap_or_default();
        let (name, len) = match after
            .strip_prefix('"')
            .and_then(|quoted| quoted.split_once('"'))
        {
            Some((name, _)) => (name, name.len() + 2),
            None => {
                let end = after.find(char::is_whitespace).unwrap_or(after.len());
                let word = after.get(..end).unwrap_or_default();
                (
                    word.trim_end_matches(['.', ',', ';', ':', '?', '!', ')']),
                    end,
                )
            }
        };
        if starts && !name.is_empty() && !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
        before = after
            .get(..len)
            .unwrap_or_default()
            .chars()
            .next_back()
            .or(Some('@'));
        rest = after.get(len..).unwrap_or_default();
    }
    found
}

/// Where the person means: from his home, from the root, or from the working directory. His own files need no fence.
fn place(name: &str, world: &World) -> PathBuf {
    if let (Some(rest), Some(home)) = (name.strip_prefix("~/"), world.env.get("HOME")) {
        return Path::new(home).join(rest);
    }
    match world.place.root() {
        Some(root) => root.path().join(name),
        None => PathBuf::from(name),
    }
}

fn read(path: &Path, meta: &fs::Metadata, world: &World) -> Result<String, String> {
    if !meta.is_file() {
        return Err("it is no regular file.".to_owned());
    }
    let mut used = world.reading.lock();
    let left = READ_STOP.saturating_sub(*used);
    if left == 0 {
        return Err(format!(
            "{READ_STOP} characters were read in this session already."
        ));
    }
    let most = EACH.min(if *used < READ_WARN {
        READ_WARN - *used
    } else {
        left
    });
    let mut bytes = Vec::new();
    open::read(path)
        .and_then(|file| file.take(most as u64 + 4).read_to_end(&mut bytes))
        .map_err(|why| format!("{}.", crate::base::error::io_words(&why)))?;
    if bytes.contains(&0) {
        return Err("it is binary, not text.".to_owned());
    }
    let lossy = String::from_utf8_lossy(&bytes);
    let mut content = text::head(&lossy, most).to_owned();
    *used += content.len();
    if meta.len() > content.len() as u64 {
        content.push_str(&format!(
            "\n[Cut: {} of {} bytes. Read the rest with read_file and a line range.]",
            content.len(),
            meta.len()
        ));
    }
    Ok(content)
}

fn listing(path: &Path) -> String {
    let mut names: Vec<String> = fs::read_dir(path)
        .map(|entries| {
            entries
                .filter_map(Result::ok)
                .take(1_000)
                .map(|entry| {
                    let slash = entry.file_type().is_ok_and(|kind| kind.is_dir());
                    format!(
                        "{}{}",
                        entry.file_name().to_string_lossy(),
                        if slash { "/" } else { "" }
                    )
                })
                .collect()
        })
        .unwrap_or_default();
    names.sort();
    names.join("\n")
}

/// Data with a heading, fenced so that it reads as data.
fn block(name: &str, kind: &str, content: &str) -> String {
    format!("\n\n{}", enclosed(kind, &format!("name={name:?}"), content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use crate::disk::beneath::Root;
    use crate::tools::bounds::Bounds;

    fn world(dir: &Path) -> World {
        let world = World::new(Env::default(), Bounds::default());
        world.place.set(Root::open(dir).unwrap(), false);
        world
    }

    #[test]
    fn names_stand_at_the_beginning_of_a_word() {
        assert_eq!(
            names("see @a.rs, @\"b c\" and x@y.z (@d) @a.rs @"),
            ["a.rs", "b c"]
        );
        assert_eq!(names("@é @日本.txt"), ["é", "日本.txt"]);
    }

    #[test]
    fn files_are_attached_within_the_budget_and_people_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.txt"), "alpha\n").unwrap();
        fs::write(dir.path().join("bin"), b"a\0b").unwrap();
        fs::write(dir.path().join("big"), "x".repeat(250_000)).unwrap();
        let world = world(dir.path());
        let mut said = Vec::new();
        let mut attach = |text: &str| with_files(text, &world, &mut |words| said.push(words));
        assert_eq!(attach("hi @nobody"), "hi @nobody");
        assert_eq!(
            attach("@a.txt"),
            "@a.txt\n\n<file name=\"a.txt\">\nalpha\n</file>"
        );
        assert_eq!(attach("@bin"), "@bin");
        assert!(attach("@big").contains("[Cut: 100000 of 250000 bytes."));
        attach("@big");
        attach("@big");
        assert_eq!(attach("@big"), "@big");
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("binary") && said[1].contains("300000"));
    }
}
