//! Images that the user attaches: read, checked against what the model takes, and described with what they cost.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::OFlags;

use crate::base::problem::{Outcome, Problem, io_words};
use crate::base::text::{counted, escape_controls, file_size};
use crate::chat::image::Image;
use crate::chat::usage::dollars;
use crate::formats::image::{ImageError, ImageHeader};
use crate::llm::images::{self, TakesImages};
use crate::model_call::model_target::ModelTarget;

/// Larger files are not read: no provider takes them.
pub(crate) const MAX_FILE_BYTES: u64 = 32 << 20;

/// The image in the file at `path`, which the user named on the command line.
///
/// # Errors
/// It cannot be read, or is no image.
pub(crate) fn from_path(path: &Path, target: &ModelTarget) -> Outcome<Image> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|reason| unreadable(path, &reason))?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    from_bytes(&name.to_string_lossy(), bytes.into(), target)
}

/// Opens the file at `path`, which the user named on the command line.
///
/// # Errors
/// There is none, or it may not be read.
pub(crate) fn open(path: &Path) -> Outcome<File> {
    let shown = escape_controls(&path.to_string_lossy());
    // A pipe does not block.
    let file = File::options()
        .read(true)
        .custom_flags(i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default())
        .open(path)
        .map_err(|reason| unreadable(path, &reason))?;
    let is_file = file.metadata().is_ok_and(|about| about.is_file());
    if !is_file {
        return Err(Problem::input(format!("\"{shown}\" is not a file."))
            .next("Give --image a PNG, JPEG, GIF or WebP file."));
    }
    Ok(file)
}

fn unreadable(path: &Path, reason: &std::io::Error) -> Problem {
    let shown = escape_controls(&path.to_string_lossy());
    Problem::input(format!(
        "Cannot read the image \"{shown}\": {}.",
        io_words(reason)
    ))
    .next("Give --image a PNG, JPEG, GIF or WebP file.")
}

/// The image in `bytes`, called `name`.
///
/// # Errors
/// They are too many, or no image.
pub(crate) fn from_bytes(name: &str, bytes: Arc<[u8]>, target: &ModelTarget) -> Outcome<Image> {
    let name = escape_controls(name);
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Problem::limit(format!(
            "\"{name}\" is larger than {}.",
            file_size(MAX_FILE_BYTES)
        ))
        .next("Make it smaller."));
    }
    let header = ImageHeader::read(&bytes).map_err(|error| match error {
        ImageError::UnknownKind => Problem::input(format!("\"{name}\" is no image."))
            .next("Attach a PNG, JPEG, GIF or WebP file."),
        ImageError::Broken(kind) => Problem::input(format!(
            "\"{name}\" begins like a {} file, but its header is damaged.",
            kind.name()
        ))
        .next("Open it in an image viewer and save it again."),
    })?;
    Ok(Image {
        name,
        kind: header.kind,
        width: header.width,
        height: header.height,
        bytes: bytes.len() as u64,
        tokens: images::tokens(target.provider.name(), header.width, header.height),
        data: Some(bytes),
    })
}

/// Refuses images that `target` would refuse.
///
/// # Errors
/// As [`images::check`].
pub(crate) fn check(all: &[Image], target: &ModelTarget) -> Outcome<()> {
    let provider = target.provider.name();
    images::check(all, provider, &target.model, &target.info, &target.prices)
}

/// What the user is told of an image that goes to `target`: size, and about what it costs.
pub(crate) fn line(image: &Image, target: &ModelTarget) -> String {
    let mut line = format!(
        "@{}  {}, {}x{}, {}, about {}",
        image.name,
        image.kind.name(),
        image.width,
        image.height,
        file_size(image.bytes),
        counted(image.tokens, "token"),
    );
    let price = target.info.price.as_ref();
    let cost = price.map(|price| price.rates.input);
    if let Some(cost) = cost.filter(|cost| *cost > 0.0 && target.provider.bills_dollars()) {
        // Prices are for a million tokens.
        let cost = cost * image.tokens as f64 / 1e6;
        line.push_str(&format!(" ({})", dollars(cost, true)));
    }
    if images::takes(target.provider.name(), &target.model, &target.info) == TakesImages::Unknown {
        line.push_str(&format!(
            "; whether {} takes images is not known",
            escape_controls(&target.model)
        ));
    }
    line
}
