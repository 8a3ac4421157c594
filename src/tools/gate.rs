//! Gates in front of writing: the files a restricted child may write.

use super::context::World;
use crate::base::error::{Outcome, Problem};
use crate::disk::beneath::Rel;

/// Refuses a write to any file but those of `MARVIN_WRITABLE_FILES`, compared by path (contract/pipeline.md 9).
pub fn may_write(world: &World, path: &Rel) -> Outcome<()> {
    let Some(files) = &world.bounds.writable else {
        return Ok(());
    };
    if files
        .iter()
        .any(|file| std::path::Path::new(file) == std::path::Path::new(path.as_str()))
    {
        return Ok(());
    }
    Err(Problem::refused(format!(
        "{} may not be written in this process.",
        path.as_str()
    ))
    .next(format!(
        "Only these files may be written: {}.",
        files.join(", ")
    )))
}
