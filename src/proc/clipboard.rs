//! Reads the clipboard of the desktop: wl-paste(1) on Wayland, xclip(1) on X11.

use std::time::Duration;

use super::capture::KeepLimits;
use super::child::ProgramSpec;
use super::child_env;
use super::program::find_program;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};

/// Longest time of each call; the program that owns the clipboard may hang.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Most bytes that are taken from it.
const MAX_BYTES: usize = 32 << 20;
/// Kinds of images to ask for, the best first.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];
/// What text is called.
const TEXT_TYPES: [&str; 5] = [
    "text/plain;charset=utf-8",
    "UTF8_STRING",
    "text/plain",
    "STRING",
    "TEXT",
];

/// What is on the clipboard.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ClipboardContent {
    /// An image, as a file would have it.
    Image(Vec<u8>),
    /// Text.
    Text(String),
}

/// A program that reads the clipboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClipboardTool {
    WlPaste,
    Xclip,
}

impl ClipboardTool {
    const fn program(self) -> &'static str {
        match self {
            Self::WlPaste => "wl-paste",
            Self::Xclip => "xclip",
        }
    }

    /// The arguments that list the types on the clipboard.
    const fn list(self) -> &'static [&'static str] {
        match self {
            Self::WlPaste => &["--list-types"],
            Self::Xclip => &["-selection", "clipboard", "-t", "TARGETS", "-o"],
        }
    }

    /// The arguments that write what is there in one type.
    fn take(self, kind: &str) -> Vec<&str> {
        match self {
            Self::WlPaste => vec!["--no-newline", "--type", kind],
            Self::Xclip => vec!["-selection", "clipboard", "-t", kind, "-o"],
        }
    }

    /// The one that fits the desktop of `env`, if it is installed.
    fn find(env: &Env) -> Option<Self> {
        let order = match env.get("WAYLAND_DISPLAY") {
            Some(display) if !display.is_empty() => [Self::WlPaste, Self::Xclip],
            _ => [Self::Xclip, Self::WlPaste],
        };
        let installed = |tool: &Self| find_program(tool.program(), env).is_some();
        order.into_iter().find(installed)
    }
}

/// Reads the clipboard: an image if there is one, else text.
///
/// # Errors
/// There is no program for it, no desktop, nothing on the clipboard, or too much.
pub(crate) fn read(env: &Env, stop: &Cancel) -> Outcome<ClipboardContent> {
    let tool = ClipboardTool::find(env).ok_or_else(|| {
        Problem::missing("The clipboard cannot be read: neither wl-paste nor xclip is installed.")
            .next("Install wl-clipboard (Wayland) or xclip (X11), or save the image and attach it with @.")
    })?;
    let listed = output(tool, tool.list(), env, stop)?;
    let listed = String::from_utf8_lossy(&listed);
    let types: Vec<&str> = listed.lines().map(str::trim).collect();
    let first_of = |known: &[&'static str]| known.iter().copied().find(|one| types.contains(one));
    if let Some(kind) = first_of(&IMAGE_TYPES) {
        let bytes = output(tool, &tool.take(kind), env, stop)?;
        return Ok(ClipboardContent::Image(bytes));
    }
    let kind = first_of(&TEXT_TYPES)
        .ok_or_else(|| Problem::missing("There is neither an image nor text on the clipboard."))?;
    let bytes = output(tool, &tool.take(kind), env, stop)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(ClipboardContent::Text(text))
}

fn output(tool: ClipboardTool, args: &[&str], env: &Env, stop: &Cancel) -> Outcome<Vec<u8>> {
    let mut run = ProgramSpec::new(tool.program(), args, child_env::command_env(env));
    run.limit = TIMEOUT;
    run.stdout = KeepLimits::first(MAX_BYTES);
    let output = run.run(stop)?;
    stop.check()?;
    if !output.success() {
        // Both say on standard error what is wrong, in words of X11 and Wayland; an empty clipboard is the usual reason.
        let problem = Problem::missing(format!(
            "{} found nothing on the clipboard.",
            tool.program()
        ));
        return Err(problem.facts(output.stderr.text().trim().to_owned()));
    }
    if output.stdout.is_cut() {
        return Err(Problem::limit(
            "What is on the clipboard is larger than 32 MB.",
        ));
    }
    Ok(output.stdout.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn program(dir: &Path, name: &str, script: &str) {
        let path = dir.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn read_with(dir: &Path, wayland: bool) -> Outcome<ClipboardContent> {
        let path = format!("{}:/usr/bin:/bin", dir.display());
        let display = if wayland { "wayland-0" } else { "" };
        let env = Env::from([("PATH", path.as_str()), ("WAYLAND_DISPLAY", display)]);
        read(&env, &Cancel::new())
    }

    #[test]
    fn an_image_comes_before_text() {
        let dir = tempfile::tempdir().unwrap();
        program(
            dir.path(),
            "xclip",
            r#"case "$*" in *TARGETS*) printf 'TARGETS\nUTF8_STRING\nimage/png\n';; *image/png*) printf 'PNG\0bytes';; *) exit 1;; esac"#,
        );
        program(
            dir.path(),
            "wl-paste",
            r#"case "$*" in --list-types) printf 'text/plain\nUTF8_STRING\n';; *UTF8_STRING) printf 'two\nlines';; *) exit 1;; esac"#,
        );
        assert_eq!(
            read_with(dir.path(), false).unwrap(),
            ClipboardContent::Image(b"PNG\0bytes".to_vec())
        );
        assert_eq!(
            read_with(dir.path(), true).unwrap(),
            ClipboardContent::Text("two\nlines".to_owned())
        );
    }

    #[test]
    fn an_empty_clipboard_is_said() {
        let dir = tempfile::tempdir().unwrap();
        program(
            dir.path(),
            "xclip",
            "echo 'target TARGETS not available' >&2; exit 1",
        );
        let problem = read_with(dir.path(), false).unwrap_err();
        assert!(problem.what.contains("nothing on the clipboard"));
        program(dir.path(), "xclip", "echo image/x-odd");
        let problem = read_with(dir.path(), false).unwrap_err();
        assert!(problem.what.contains("neither an image nor text"));
    }
}
