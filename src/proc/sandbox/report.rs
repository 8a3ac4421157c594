//! How the layer tells of its own failure: on a pipe that only the layer can write to, and that closes when the command starts.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _};
use std::os::fd::AsRawFd as _;

use rustix::fs::OFlags;
use rustix::io::FdFlags;

/// The layer's exit status when it could not start the command.
pub(super) const LAYER_FAILED: u8 = 126;
/// Longest reason in bytes.
const MAX_REASON_BYTES: u64 = 4096;

/// The two ends, while the layer is being started.
pub(in crate::proc) struct LayerReport {
    reader: PipeReader,
    writer: Option<PipeWriter>,
}

impl LayerReport {
    pub(in crate::proc) fn open() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        // A program that is started at the same moment by another thread may hold the other end: what is not there yet is not waited for.
        rustix::fs::fcntl_setfl(&reader, OFlags::NONBLOCK)?;
        // Passed on to the layer, which closes it for the command.
        rustix::io::fcntl_setfd(&writer, FdFlags::empty())?;
        Ok(Self {
            reader,
            writer: Some(writer),
        })
    }

    /// The number under which the layer finds it.
    pub(in crate::proc) fn number(&self) -> Option<u32> {
        let number = self.writer.as_ref()?.as_raw_fd();
        u32::try_from(number).ok()
    }

    /// Closes this side of it once the layer has been started.
    pub(in crate::proc) fn started(&mut self) {
        self.writer = None;
    }

    /// Why the layer failed, if it did; for when the process has ended.
    pub(in crate::proc) fn reason(self) -> Option<String> {
        let mut bytes = Vec::new();
        let reader: std::os::fd::OwnedFd = self.reader.into();
        let _none = File::from(reader)
            .take(MAX_REASON_BYTES)
            .read_to_end(&mut bytes);
        let reason = String::from_utf8_lossy(&bytes).trim().to_owned();
        (!reason.is_empty()).then_some(reason)
    }
}
