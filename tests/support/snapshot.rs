//! Snapshots: a text is compared with a file under `tests/snapshots`; `MARVIN_BLESS=1` writes the file.

use std::fs;
use std::path::Path;

/// Compares `text` with the snapshot of this name; fails the test with both when they differ.
pub fn same(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/snapshots")
        .join(format!("{name}.txt"));
    same_file(&path, &format!("{}\n", text.trim_end()));
}

/// Compares `text`, to the byte, with a file of the repository.
pub fn same_file(path: &Path, text: &str) {
    let name = path.display();
    if std::env::var_os("MARVIN_BLESS").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder for snapshots");
        fs::write(path, text).expect("a snapshot written");
        return;
    }
    let kept = fs::read_to_string(path).unwrap_or_else(|reason| {
        panic!("{name}: no snapshot ({reason}); MARVIN_BLESS=1 writes it")
    });
    assert!(
        kept == text,
        "{name} is not as its snapshot. It was:\n{kept}\nIt is:\n{text}\nMARVIN_BLESS=1 keeps the new one."
    );
}
