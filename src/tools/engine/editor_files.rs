//! An editor that knows the texts of files better than the disk does.

use std::path::Path;

use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;

/// The files of an editor that drives the session. Paths are absolute, and the fence has judged them.
pub(crate) trait EditorFiles: Send + Sync {
    /// Whether it tells the texts of files.
    fn reads(&self) -> bool;

    /// Whether it writes files.
    fn writes(&self) -> bool;

    /// The text of a file, what is not saved included. None when it does not know the file: then the disk does.
    ///
    /// # Errors
    /// It cannot tell, or `stop` fired.
    fn read(&self, path: &Path, stop: &Cancel) -> Outcome<Option<String>>;

    /// Makes this the whole text of a file.
    ///
    /// # Errors
    /// It cannot, or `stop` fired.
    fn write(&self, path: &Path, text: &str, stop: &Cancel) -> Outcome<()>;
}
