//! A picture of the viewport. Blender writes it to a file, so that it has to run on this machine: into a private folder that is removed on
//! every path. What Marvin keeps is a copy.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::add_on::{AddOn, Command, LIMIT};
use crate::base::open;
use crate::base::problem::{Outcome, Problem, io_words};
use crate::base::text::thousands;
use crate::disk::atomic::{self, Access};
use crate::tools::engine::context::ToolContext;

const MAX_PICTURE_BYTES: u64 = 64 << 20;
/// How a PNG begins (RFC 2083, section 12.12); after it come length and name of the first chunk, then width and height.
const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Has the viewport drawn with at most `max_size` pixels on its longest side, and keeps the picture.
pub(super) fn take(ctx: &ToolContext, max_size: u32) -> Outcome<String> {
    let add_on = AddOn::new(&ctx.session.env)?;
    let folder = ctx.session.paths.viewports()?;
    atomic::make_folder(&folder, Access::Private)?;
    let private = tempfile::Builder::new()
        .prefix(".drawing-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(&folder)
        .map_err(|error| {
            Problem::system(
                format!("Cannot make a folder in {}", folder.display()),
                error,
            )
        })?;
    let drawn = private.path().join("viewport.png");
    let params =
        json!({"filepath": drawn.to_string_lossy(), "max_size": max_size, "format": "png"});
    add_on.ask(Command::Screenshot, &params, LIMIT, &ctx.stop)?;
    let picture =
        open::bytes(&drawn, MAX_PICTURE_BYTES).map_err(|error| no_picture(&drawn, &error))?;
    let (width, height) = size(&picture).ok_or_else(|| {
        Problem::network("Blender wrote a picture that is not a PNG.")
            .next("Update the BlenderMCP add-on.")
    })?;
    let time = ctx
        .session
        .clock
        .now()
        .strftime("%Y%m%d-%H%M%S")
        .to_string();
    let kept = unused(&folder, &time);
    atomic::write(&kept, &picture, Access::Private)?;
    Ok(format!(
        "The viewport was captured: {width} x {height} pixels, {} KB.\nThe picture is {}",
        thousands(picture.len().div_ceil(1024) as u64),
        kept.display()
    ))
}

fn no_picture(drawn: &Path, error: &std::io::Error) -> Problem {
    let problem = Problem::network(format!(
        "Blender says that it drew the viewport, but there is no picture: {}.",
        io_words(error)
    ));
    let folder = drawn.parent().and_then(Path::parent).unwrap_or(drawn);
    problem.next(format!(
        "Blender has to run on this machine, as the same user, and be able to write below {}.",
        folder.display()
    ))
}

/// Width and height of a PNG.
fn size(picture: &[u8]) -> Option<(u32, u32)> {
    let header = picture.strip_prefix(PNG_SIGNATURE)?.get(4..16)?;
    let header = header.strip_prefix(b"IHDR")?;
    let number = |bytes: Option<&[u8]>| Some(u32::from_be_bytes(bytes?.try_into().ok()?));
    Some((number(header.get(..4))?, number(header.get(4..8))?))
}

/// A name that no picture has yet.
fn unused(folder: &Path, time: &str) -> PathBuf {
    let mut path = folder.join(format!("viewport-{time}.png"));
    let mut number = 2;
    while path.exists() {
        path = folder.join(format!("viewport-{time}-{number}.png"));
        number += 1;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_read_from_the_first_chunk() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x01\0\0\0\0\x80\x08\x06";
        assert_eq!(size(png), Some((256, 128)));
        assert_eq!(size(&png[..20]), None);
        assert_eq!(size(b"GIF89a"), None);
        assert_eq!(size(b""), None);
    }

    #[test]
    fn no_picture_replaces_another() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["viewport-t.png", "viewport-t-2.png", "viewport-t-3.png"] {
            let path = unused(dir.path(), "t");
            assert_eq!(path, dir.path().join(name));
            std::fs::write(path, "").unwrap();
        }
    }
}
