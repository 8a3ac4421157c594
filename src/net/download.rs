//! Downloads a file into a folder under a free name, completely or not at all.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

use super::http::Response;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::formats::address::Address;
use crate::formats::filename::{disposition, numbered, safe};
use crate::net::guarded_client::GuardedClient;

/// Bytes read at once.
const PIECE: usize = 64 * 1024;
/// Interval of progress reports.
const EACH: Duration = Duration::from_millis(200);
/// Prefix and suffix of the names of partial files and folders.
pub(crate) const PARTIAL: (&str, &str) = (".marvin-", ".part");
/// No download runs this long.
const STALE: Duration = Duration::from_secs(3600);
/// How many files of the same name get a number.
const NAMESAKES: usize = 1_000;

#[derive(Debug, Clone)]
pub(crate) struct DownloadTarget<'a> {
    /// Created if necessary.
    pub folder: &'a Path,
    /// `None` takes the name from the response or the address.
    pub name: Option<String>,
    /// Size limit in bytes.
    pub max_bytes: u64,
}

#[derive(Debug)]
pub(crate) struct SavedFile {
    pub path: PathBuf,
    pub bytes: u64,
    /// The final address, after redirects.
    pub address: Address,
}

/// Downloads `address`. `progress` is called from time to time with the bytes received and expected. Nothing stays in the folder after a failure.
///
/// # Errors
/// `Refused` for private addresses, also in redirects; `Limit` when it is too large for its limit or the disk; `Network` for an invalid or truncated
/// response; `Cancelled`.
pub(crate) fn download(
    client: &GuardedClient,
    address: &Address,
    target: &DownloadTarget<'_>,
    progress: &mut dyn FnMut(u64, Option<u64>),
    stop: &Cancel,
) -> Outcome<SavedFile> {
    let fetched = client.open(address, &[("accept", "*/*".to_owned())], stop)?;
    let mut response = fetched.response;
    if !(200..300).contains(&response.status) {
        return Err(refusal(&fetched.address, &mut response));
    }
    let shown = target.folder.display();
    fs::create_dir_all(target.folder)
        .map_err(|cause| Problem::system(format!("Cannot make the folder {shown}"), cause))?;
    let length = response
        .header("content-length")
        .and_then(|text| text.parse::<u64>().ok());
    if length.is_some_and(|length| length > target.max_bytes) {
        return Err(too_large(length, target.max_bytes));
    }
    let free = fs2::available_space(target.folder).unwrap_or(u64::MAX);
    if length.is_some_and(|length| length > free) {
        return Err(no_room(length, free, target.folder));
    }
    let name = target.name.clone().or_else(|| {
        let header = response.header_text("content-disposition");
        header.and_then(|header| safe(&disposition(&header)?))
    });
    let name = name
        .or_else(|| safe(&fetched.address.last_part()))
        .or_else(|| safe(&address.last_part()))
        .unwrap_or_else(|| "download".to_owned());

    let cannot = |cause: io::Error| match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => no_room(
            length,
            fs2::available_space(target.folder).unwrap_or(0),
            target.folder,
        ),
        io::ErrorKind::FileTooLarge => too_large(length, target.max_bytes),
        _ => Problem::system(format!("Cannot write into {shown}"), cause),
    };
    sweep(target.folder);
    // Deleted on drop, which means on every path but success.
    let mut file = unnamed(target.folder).map_err(cannot)?;
    let mut buffer = vec![0u8; PIECE];
    let mut bytes = 0u64;
    let mut last = Instant::now();
    progress(0, length);
    loop {
        let count = response
            .read(&mut buffer)
            .map_err(|error| error.problem(&fetched.address.host.to_string()))?;
        if count == 0 {
            break;
        }
        bytes += count as u64;
        if bytes > target.max_bytes {
            return Err(too_large(None, target.max_bytes));
        }
        file.write_all(buffer.get(..count).unwrap_or_default())
            .map_err(cannot)?;
        if last.elapsed() >= EACH {
            progress(bytes, length);
            last = Instant::now();
        }
    }
    stop.check()?;
    let path = persist_unique(file, target.folder, &name).map_err(cannot)?;
    Ok(SavedFile {
        path,
        bytes,
        address: fetched.address,
    })
}

/// Removes what killed downloads left behind long ago.
pub(crate) fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with(PARTIAL.0) || !name.ends_with(PARTIAL.1) {
            continue;
        }
        let time = entry.metadata().and_then(|about| about.modified());
        let old = time.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > STALE));
        // A symlink is not followed: it is not a folder.
        let _ = match entry.file_type() {
            Ok(kind) if old && kind.is_dir() => fs::remove_dir_all(entry.path()),
            Ok(_) if old => fs::remove_file(entry.path()),
            _ => Ok(()),
        };
    }
}

/// A new file in the target's folder, with the permissions of the user's files.
fn unnamed(folder: &Path) -> io::Result<NamedTempFile> {
    use std::os::unix::fs::PermissionsExt as _;
    tempfile::Builder::new()
        .prefix(PARTIAL.0)
        .suffix(PARTIAL.1)
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(folder)
}

/// Renames the file to the first free name of its series. Never replaces an existing file, not even a dangling symlink.
fn persist_unique(mut file: NamedTempFile, folder: &Path, name: &str) -> io::Result<PathBuf> {
    for count in 1..=NAMESAKES {
        let path = folder.join(numbered(name, count));
        match file.persist_noclobber(&path) {
            Ok(_) => return Ok(path),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => file = error.file,
            Err(error) => return Err(error.error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// The problem with a response that is not a file, quoting the start of its text.
fn refusal(address: &Address, response: &mut Response) -> Problem {
    let words = match response.status {
        401 | 403 => " (not allowed)",
        404 | 410 => " (not found)",
        429 => " (too many requests)",
        500..=599 => " (the server failed)",
        _ => "",
    };
    let problem = Problem::network(format!(
        "{} answered {}{words} for {}.",
        address.host,
        response.status,
        clip(&escape_controls(&address.target), 200)
    ));
    let kind = response.header("content-type").unwrap_or_default();
    if kind.starts_with("text/plain") {
        let text = String::from_utf8_lossy(&response.read_some(300)).into_owned();
        return problem.facts(format!("It says: {}", escape_controls(text.trim())));
    }
    problem.next("Check the address; nothing was saved.")
}

fn too_large(length: Option<u64>, max: u64) -> Problem {
    Problem::limit(match length {
        Some(length) => format!(
            "The file has {}; at most {} are fetched.",
            size(length),
            size(max)
        ),
        None => format!(
            "The file has more than {}, which is the limit for downloads.",
            size(max)
        ),
    })
    .next("Nothing was saved. Fetch it with a program of your own, such as curl -O.")
}

fn no_room(length: Option<u64>, free: u64, folder: &Path) -> Problem {
    Problem::limit(match length {
        Some(length) => format!(
            "The file has {}, and the disk of {} has {} free.",
            size(length),
            folder.display(),
            size(free)
        ),
        None => format!("The disk of {} is full.", folder.display()),
    })
    .next("Nothing was saved. Make room first.")
}

/// A size for display: `12.3 MB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "kB", "MB", "GB", "TB"];
    #[allow(clippy::cast_precision_loss)]
    let mut number = bytes as f64;
    let mut units = UNITS.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    while number >= 1000.0
        && let Some(next) = units.next()
    {
        number /= 1000.0;
        unit = next;
    }
    if unit == "bytes" {
        return if bytes == 1 {
            "1 byte".to_owned()
        } else {
            format!("{bytes} bytes")
        };
    }
    format!("{number:.1} {unit}")
}

#[cfg(test)]
mod tests;
