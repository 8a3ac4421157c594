//! Opens regular files safely: opening a FIFO can block forever, and a device has no end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The error text for a FIFO, a device or a directory.
pub(crate) const NOT_ORDINARY: &str = "it is not a regular file";

/// Opens a regular file for reading.
///
/// # Errors
/// It cannot be opened, or is not a regular file ([`NOT_ORDINARY`]).
pub(crate) fn read(path: &Path) -> io::Result<File> {
    with(OpenOptions::new().read(true), path)
}

/// Opens a regular file with these options, or creates it.
pub(crate) fn with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    // Neither wait for the other end of a FIFO nor get a controlling terminal.
    let quietly = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = options
        .custom_flags(i32::try_from(quietly.bits()).unwrap_or_default())
        .open(path)
        .map_err(|error| match rustix::io::Errno::from_io_error(&error) {
            // A FIFO without a reader, a socket, a device without a driver.
            Some(rustix::io::Errno::NXIO) => not_ordinary(),
            _ => error,
        })?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(not_ordinary())
    }
}

/// The text of a regular file of at most `cap` bytes; a longer one is an error, and so is one that is not UTF-8.
pub(crate) fn text(path: &Path, cap: u64) -> io::Result<String> {
    String::from_utf8(bytes(path, cap)?).map_err(io::Error::other)
}

/// The content of a regular file of at most `cap` bytes; a longer one is an error.
pub(crate) fn bytes(path: &Path, cap: u64) -> io::Result<Vec<u8>> {
    let file = read(path)?;
    let mut bytes = Vec::new();
    if file.metadata()?.len() <= cap {
        file.take(cap.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= cap {
            return Ok(bytes);
        }
    }
    Err(io::Error::other(format!("it is larger than {cap} bytes")))
}

fn not_ordinary() -> io::Error {
    io::Error::other(NOT_ORDINARY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_special_file_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for name in ["fifo", "zero", "socket", "."] {
            let read = read(&at(name)).unwrap_err();
            assert_eq!(read.to_string(), NOT_ORDINARY, "{name}");
            assert!(
                with(OpenOptions::new().append(true), &at(name)).is_err(),
                "{name}"
            );
            assert!(with(OpenOptions::new().read(true).append(true), &at(name)).is_err());
        }
        std::fs::write(at("text"), "twelve bytes").unwrap();
        assert_eq!(text(&at("text"), 12).unwrap(), "twelve bytes");
        assert!(bytes(&at("text"), 11).is_err());
        let huge = File::create(at("huge")).unwrap();
        huge.set_len(3 << 30).unwrap();
        assert!(bytes(&at("huge"), 1 << 20).is_err());
    }
}
