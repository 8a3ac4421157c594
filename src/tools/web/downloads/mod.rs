//! Module `downloads`: files and videos from the web into `~/Downloads`.

mod video;

use crate::base::problem::Outcome;
use crate::formats::address::Address;
use crate::formats::filename::chosen;
use crate::net::download::{DownloadTarget, download, size};
use crate::net::guarded_client::GuardedClient;
use crate::tools::OUTSIDE;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;

tools! { "downloads";
    /// Download to ~/Downloads.
    download_file(DownloadFile; OUTSIDE.seconds(120).slow().saves_files().additive()) {
        /// address
        url: String, example: "https://example.org/report.pdf";
        /// default from the URL
        filename: String = "";
    } => file, says ["download {url}"];

    /// Download video or audio.
    yt_dlp_download(YtDlpDownload; OUTSIDE.seconds(600).slow().saves_files().service("yt-dlp").additive()) {
        /// address
        url: String, example: "https://example.org/watch?v=1";
        /// extract mp3
        audio_only: bool = false;
        /// subdirectory of ~/Downloads/yt-dlp
        output_dir: String = "";
    } => video::fetch, says ["download the video {url}"];
}

/// Maximum size of a file.
const MAX_FILE_BYTES: u64 = 8 << 30;

fn file(ctx: &ToolContext, args: DownloadFile) -> Outcome<String> {
    let address = Address::parse(&args.url)?;
    let name = match args.filename.trim() {
        "" => None,
        name => Some(chosen(name)?),
    };
    let folder = ctx.session.paths.downloads()?;
    let target = DownloadTarget {
        folder: &folder,
        name,
        max_bytes: MAX_FILE_BYTES,
    };
    let mut progress = |bytes, whole: Option<u64>| {
        ctx.progress(match whole {
            Some(whole) => format!("{} of {}", size(bytes), size(whole)),
            None => size(bytes),
        });
    };
    let client = GuardedClient::new(&ctx.session.env)?;
    let saved = download(&client, &address, &target, &mut progress, &ctx.stop)?;
    let from = if saved.address == address {
        String::new()
    } else {
        format!("\nIt came from {}.", saved.address)
    };
    Ok(format!(
        "Saved {} ({}).{from}",
        saved.path.display(),
        size(saved.bytes)
    ))
}
