//! What the folder of the sessions says of one, without reading its file.

use std::path::PathBuf;
use std::time::SystemTime;

use super::id::SessionId;

/// The file of a session.
pub(super) struct SessionOnDisk {
    pub(super) id: SessionId,
    pub(super) path: PathBuf,
    /// When it was changed last.
    pub(super) modified: SystemTime,
    /// Bytes of it.
    pub(super) length: u64,
}
