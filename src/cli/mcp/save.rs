//! `--save DIR`: what a result has that is no text is kept in files.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::app::stream::say;
use crate::base::problem::{Outcome, Problem};

/// Files of one result.
const MAX_FILES: usize = 100;

/// Keeps what blocks or contents have in base64, each in a new file of `dir`, and says where.
///
/// # Errors
/// A file cannot be written.
pub(super) fn save(dir: &Path, items: &[Value]) -> Outcome<()> {
    let mut number = 0;
    for item in items {
        let resource = item.get("resource").unwrap_or(item);
        let base64 = item.get("data").or_else(|| resource.get("blob"));
        let Some(base64) = base64.and_then(Value::as_str) else {
            continue;
        };
        number += 1;
        if number > MAX_FILES {
            return Err(Problem::limit(format!(
                "The result has more than {MAX_FILES} parts that are no text; the others are not saved."
            )));
        }
        let Ok(bytes) = STANDARD.decode(base64) else {
            say(&format!("Part {number} is not saved: it is no base64."));
            continue;
        };
        fs::create_dir_all(dir).map_err(|error| {
            Problem::system(format!("Cannot make the folder {}", dir.display()), error)
        })?;
        let kind = item.get("mimeType").or_else(|| resource.get("mimeType"));
        let name = format!("{number}.{}", ending(kind.and_then(Value::as_str)));
        let path = dir.join(name);
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .and_then(|mut file| file.write_all(&bytes));
        written.map_err(|error| {
            Problem::system(format!("Cannot write {}", path.display()), error)
                .next("Give --save a folder that is new or empty.")
        })?;
        say(&format!("Saved {}.", path.display()));
    }
    Ok(())
}

/// The ending of a file of this kind: what stands behind the slash, as far as it can be in a name.
fn ending(media_type: Option<&str>) -> String {
    let kind = media_type.unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    let kind = kind.rsplit('/').next().unwrap_or_default().trim();
    match kind.strip_prefix("x-").unwrap_or(kind) {
        "" | "octet-stream" => "bin".to_owned(),
        "mpeg" => "mp3".to_owned(),
        kind => {
            let safe: String = kind.chars().filter(char::is_ascii_alphanumeric).collect();
            match safe.get(..safe.len().min(20)).unwrap_or_default() {
                "" => "bin".to_owned(),
                safe => safe.to_owned(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_text_is_kept_in_new_files() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("new");
        let items = json!([
            {"type": "text", "text": "words"},
            {"type": "audio", "mimeType": "audio/x-wav; a=b", "data": "AAEC"},
            {"type": "resource", "resource": {"uri": "a", "mimeType": "../..", "blob": "AA=="}},
            {"uri": "b", "blob": "AAECAw=="},
            {"type": "image", "data": "?"},
        ]);
        let items = items.as_array().unwrap();
        save(&dir, items).unwrap();
        let mut names: Vec<String> = fs::read_dir(&dir)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["1.wav", "2.bin", "3.bin"]);
        assert_eq!(fs::read(dir.join("1.wav")).unwrap(), [0, 1, 2]);
        assert_eq!(fs::read(dir.join("3.bin")).unwrap(), [0, 1, 2, 3]);
        // Nothing that is there is written over.
        assert!(save(&dir, items).is_err());
    }
}
