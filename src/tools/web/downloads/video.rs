//! yt-dlp (<https://github.com/yt-dlp/yt-dlp>): run behind a filtering proxy, its partial files in a temporary folder.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use super::YtDlpDownload;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, tail};
use crate::disk::beneath::Root;
use crate::formats::address::Address;
use crate::net::download::{PARTIAL, size, sweep};
use crate::net::filtering_proxy::FilteringProxy;
use crate::net::guard::Guard;
use crate::proc::capture::KeepLimits;
use crate::proc::child::{ProgramOutput, ProgramSpec};
use crate::proc::child_env::command_env;
use crate::proc::program::find_program;
use crate::tools::engine::context::ToolContext;

/// Time limit.
const RUN_TIMEOUT: Duration = Duration::from_secs(600);
/// Protocols that yt-dlp downloads itself; ffmpeg's own transfers would bypass the proxy.
const NATIVE_PROTOCOLS: &str = "[protocol~='^(https?|m3u8_native|http_dash_segments)([+]|$)']";

/// Downloads the video in `args`.
///
/// # Errors
/// The address is refused, a program is missing, or yt-dlp fails; no partial file is left.
pub(super) fn fetch(ctx: &ToolContext, args: YtDlpDownload) -> Outcome<String> {
    let env = &ctx.session.env;
    let address = Address::parse(&args.url)?;
    let folder = folder(&ctx.session.paths.videos()?, &args.output_dir)?;
    let program = find_program("yt-dlp", env).ok_or_else(|| {
        Problem::missing("The program yt-dlp was not found.").next(
            "Install it: the package yt-dlp of the system, or \"uv tool install yt-dlp\", or \"pipx install yt-dlp\".",
        )
    })?;
    let ffmpeg = find_program("ffmpeg", env).is_some();
    if args.audio_only && !ffmpeg {
        return Err(
            Problem::missing("The program ffmpeg was not found; extracting mp3 needs it.")
                .next("Install the package ffmpeg, or download the video without audio_only."),
        );
    }
    let guard = Guard::new(env)?;
    // Checked here first, so that a refused address is reported as such.
    let proxied = crate::net::proxies::ProxyRoute::for_url(env, &address.to_string())?
        .proxy
        .is_some();
    guard.resolve_allowed(&address, proxied, Duration::from_secs(10), &ctx.stop)?;
    let gateway = FilteringProxy::open(env, guard, &ctx.stop)?;

    let cannot = |error| Problem::system(format!("Cannot write into {}", folder.display()), error);
    sweep(&folder);
    let partial = tempfile::Builder::new()
        .prefix(PARTIAL.0)
        .suffix(PARTIAL.1)
        .tempdir_in(&folder)
        .map_err(cannot)?;
    let format = match (args.audio_only, ffmpeg) {
        (true, _) => format!("ba{NATIVE_PROTOCOLS}/b{NATIVE_PROTOCOLS}"),
        (false, true) => format!(
            "bv*{NATIVE_PROTOCOLS}+ba{NATIVE_PROTOCOLS}/b{NATIVE_PROTOCOLS}/bv*{NATIVE_PROTOCOLS}"
        ),
        (false, false) => format!("b{NATIVE_PROTOCOLS}/bv*{NATIVE_PROTOCOLS}"),
    };
    let mut words: Vec<String> = [
        "--ignore-config",
        "--no-playlist",
        "--newline",
        "--no-color",
        "--restrict-filenames",
        "--no-mtime",
        "--no-overwrites",
        "--no-cache-dir",
        "--socket-timeout",
        "30",
        "--paths",
        "home:.",
        "-o",
        "%(title).150B.%(ext)s",
        "--print",
        "after_move:filepath",
        "--progress",
        "--progress-template",
        "download:PROG %(progress._percent_str)s",
        "-f",
    ]
    .map(str::to_owned)
    .to_vec();
    words.push(format);
    let inner = partial.path().file_name().unwrap_or_default();
    words.extend([
        "--paths".to_owned(),
        format!("temp:{}", inner.to_string_lossy()),
    ]);
    if args.audio_only {
        words.extend(["-x", "--audio-format", "mp3"].map(str::to_owned));
    }
    words.extend(["--".to_owned(), address.to_string()]);
    let mut vars = command_env(env);
    vars.retain(|(name, _)| !name.to_ascii_lowercase().ends_with("_proxy"));
    vars.extend(gateway.variables());
    let mut run = ProgramSpec::new(program, words, vars);
    run.dir = Some(folder.clone());
    run.limit = RUN_TIMEOUT;
    run.stderr = KeepLimits::ends(1024, 8 * 1024);

    let mut last = String::new();
    let done = run.run_split(&ctx.stop, b'\n', &mut |line| {
        let line = String::from_utf8_lossy(line);
        let line = line.trim();
        match line.strip_prefix("PROG") {
            Some(percent) => ctx.progress(percent.trim().to_owned()),
            None if !line.is_empty() => line.clone_into(&mut last),
            None => {}
        }
        ControlFlow::Continue(())
    })?;
    drop(partial);
    let done = done.unless_cancelled()?;
    if !done.success() {
        return Err(download_failed(&done, &gateway.failures(), &address));
    }
    let path = folder.join(&last);
    let kind = if args.audio_only { "audio" } else { "video" };
    match fs::metadata(&path) {
        Ok(about) if !last.is_empty() && about.is_file() => Ok(format!(
            "Downloaded {kind}: {} ({}).",
            path.display(),
            size(about.len())
        )),
        // A line in brackets is a progress message, not a path.
        _ if !last.is_empty() && !last.starts_with('[') => Err(Problem::missing(format!(
            "yt-dlp says that the {kind} is at {}, but there is no such file.",
            escape_controls(&path.to_string_lossy())
        ))),
        _ => Ok(format!(
            "yt-dlp has nothing new to download; the {kind} is already in {}.",
            folder.display()
        )),
    }
}

/// The requested folder below `base`; every component must be a real folder.
fn folder(base: &Path, sub: &str) -> Outcome<PathBuf> {
    let sub = sub.trim();
    let refused = || {
        Problem::refused(format!(
            "\"{}\" is not a folder inside {}.",
            clip(&escape_controls(sub), 80),
            base.display()
        ))
        .next("Give a plain name such as \"talks\", without .. and without a leading slash.")
    };
    let plain = Path::new(sub)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !plain || sub.contains('\0') || sub.starts_with('-') || sub.len() > 1_000 {
        return Err(refused());
    }
    let cannot =
        |error| Problem::system(format!("Cannot make the folder {}", base.display()), error);
    fs::create_dir_all(base).map_err(cannot)?;
    let folder = base.join(sub);
    // A link in the path could lead out.
    let root = Root::open(base)?;
    if !sub.is_empty() {
        let rel = root.check_write(sub)?;
        fs::create_dir_all(&folder).map_err(|error| {
            Problem::system(
                format!("Cannot make the folder {}", folder.display()),
                error,
            )
        })?;
        root.list(&rel)?;
    }
    let (real, inside) = (folder.canonicalize(), root.path());
    real.ok()
        .filter(|real| real.starts_with(inside))
        .ok_or_else(refused)
}

fn download_failed(output: &ProgramOutput, refused: &[String], address: &Address) -> Problem {
    if output.timed_out {
        return Problem::timeout(format!("yt-dlp {}.", output.ending()));
    }
    if let Some(reason) = refused.first() {
        return Problem::refused(format!("{} leads elsewhere: {reason}", address.host))
            .next("Use an address on the public internet.");
    }
    let said = output.stderr.text();
    let words: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("ERROR"))
        .map(|line| {
            line.split("; please report this issue")
                .next()
                .unwrap_or(line)
        })
        .collect();
    let words = if words.is_empty() {
        said.trim().to_owned()
    } else {
        words.join("\n")
    };
    let problem = Problem::network(format!(
        "yt-dlp failed ({}): {}",
        output.ending(),
        escape_controls(tail(&words, 500))
    ));
    if words.contains("Unsupported URL") {
        problem.next("There is no video that yt-dlp knows at this address; download_file fetches plain files.")
    } else if words.contains("ffmpeg not found") || words.contains("ffprobe") {
        problem.next("Install the package ffmpeg.")
    } else {
        problem
    }
}
