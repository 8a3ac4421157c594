//! The clipboard of the desktop: read with wl-paste(1) on Wayland and xclip(1) on X11, written with wl-copy(1), xclip(1), and in tmux(1) through that.

use std::time::Duration;

use super::capture::KeepLimits;
use super::child::{Leftovers, ProgramSpec, Stdin};
use super::child_env;
use super::program::find_program;
use super::tmux;
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

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ClipboardContent {
    /// An image, as a file would have it.
    Image(Vec<u8>),
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
        let order = match (env.get("WAYLAND_DISPLAY"), env.get("DISPLAY")) {
            (Some(_), None) => &[Self::WlPaste][..],
            (Some(_), Some(_)) => &[Self::WlPaste, Self::Xclip],
            (None, _) => &[Self::Xclip, Self::WlPaste],
        };
        let installed = |tool: &&Self| find_program(tool.program(), env).is_some();
        order.iter().find(installed).copied()
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

/// A program that copies, and its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Copier(&'static [&'static str]);

impl Copier {
    /// By default tmux drops what a program writes to copy (OSC 52, <https://github.com/tmux/tmux/wiki/Clipboard>). This puts the text into its newest buffer,
    /// and on the clipboard of the terminal that shows it; needs tmux 3.2.
    const TMUX: Self = Self(&["tmux", "load-buffer", "-w", "-"]);
    /// Without a type it would guess one, and text with an escape sequence would be no text.
    const WAYLAND: Self = Self(&["wl-copy", "--type", "text/plain"]);
    const X11: Self = Self(&["xclip", "-selection", "clipboard", "-in"]);

    /// The one for the terminal of `env`; `None` where only the terminal itself can copy.
    pub(crate) fn find(env: &Env) -> Option<Self> {
        if tmux::is_terminal(env) {
            return Some(Self::TMUX);
        }
        // Over ssh the desktop is another one than the user's.
        let is_remote = env.get("SSH_CONNECTION").is_some();
        let has = |name| !is_remote && env.get(name).is_some();
        let desktops = [("WAYLAND_DISPLAY", Self::WAYLAND), ("DISPLAY", Self::X11)];
        let known = desktops
            .into_iter()
            .find(|(name, copier)| has(name) && find_program(copier.program(), env).is_some());
        known.map(|(_, copier)| copier)
    }

    fn program(self) -> &'static str {
        self.0.first().copied().unwrap_or_default()
    }

    pub(crate) fn copy(self, text: &str, env: &Env, stop: &Cancel) -> Outcome<()> {
        let mut variables = child_env::command_env(env);
        variables.extend(tmux::socket(env));
        let args = self.0.iter().skip(1).copied();
        let mut run = ProgramSpec::new(self.program(), args, variables);
        run.stdin = Stdin::Bytes(text.as_bytes().to_vec());
        run.limit = TIMEOUT;
        // It stays to hand the text out, until something else is copied.
        run.leftovers = Leftovers::Leave;
        let output = run.run(stop)?;
        if output.success() {
            return Ok(());
        }
        let problem = Problem::missing(format!("{} did not take the text.", self.program()));
        Err(problem.facts(output.stderr.text().trim().to_owned()))
    }
}

fn output(tool: ClipboardTool, args: &[&str], env: &Env, stop: &Cancel) -> Outcome<Vec<u8>> {
    let mut run = ProgramSpec::new(tool.program(), args, child_env::command_env(env));
    run.limit = TIMEOUT;
    run.stdout = KeepLimits::first(MAX_BYTES);
    let output = run.run(stop)?;
    stop.check()?;
    if output.timed_out {
        return Err(
            Problem::timeout("The program that owns the clipboard does not answer.")
                .next("Copy it again, and paste then."),
        );
    }
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
    use crate::proc::tests::script;
    use std::fs;
    use std::path::Path;

    fn read_with(dir: &Path, wayland: bool) -> Outcome<ClipboardContent> {
        let path = format!("{}:/usr/bin:/bin", dir.display());
        let display = if wayland { "wayland-0" } else { "" };
        let env = Env::from([("PATH", path.as_str()), ("WAYLAND_DISPLAY", display)]);
        read(&env, &Cancel::new())
    }

    #[test]
    fn an_image_comes_before_text() {
        let dir = tempfile::tempdir().unwrap();
        script(
            dir.path(),
            "xclip",
            r#"case "$*" in *TARGETS*) printf 'TARGETS\nUTF8_STRING\nimage/png\n';; *image/png*) printf 'PNG\0bytes';; *) exit 1;; esac"#,
        );
        script(
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
    fn text_goes_to_the_program_of_the_terminal() {
        let dir = tempfile::tempdir().unwrap();
        let got = dir.path().join("got");
        let text = format!("echo \"$TMUX $*\" > {0}; cat >> {0}", got.display());
        let path = format!("{}:/usr/bin:/bin", dir.path().display());
        let copier = |pairs: &[(&str, &str)]| {
            let path = ("PATH", path.as_str());
            let set = std::iter::once(&path).chain(pairs);
            let env = Env::new(set.map(|(name, value)| (name.into(), value.into())));
            let copier = Copier::find(&env)?;
            copier.copy("fn main() {}\n", &env, &Cancel::new()).ok()?;
            Some(fs::read_to_string(&got).unwrap())
        };
        script(dir.path(), "tmux", &text);
        let tmux = [("TMUX", "/tmp/socket,1,0"), ("DISPLAY", ":0")];
        let expected = "/tmp/socket,1,0 load-buffer -w -\nfn main() {}\n";
        assert_eq!(copier(&tmux).as_deref(), Some(expected));
        script(dir.path(), "tmux", "echo 'unknown option -- w' >&2; exit 1");
        assert_eq!(copier(&tmux), None);
        script(dir.path(), "xclip", &text);
        let expected = " -selection clipboard -in\nfn main() {}\n";
        assert_eq!(copier(&[("DISPLAY", ":0")]).as_deref(), Some(expected));
        script(dir.path(), "wl-copy", &text);
        let both = [("DISPLAY", ":0"), ("WAYLAND_DISPLAY", "wayland-0")];
        assert_eq!(
            copier(&both).as_deref(),
            Some(" --type text/plain\nfn main() {}\n")
        );
        assert_eq!(copier(&[]), None);
        let remote = [
            ("DISPLAY", ":10"),
            ("SSH_CONNECTION", "192.0.2.1 5 192.0.2.2 22"),
        ];
        assert_eq!(copier(&remote), None);
        let nested = [("TMUX", "x"), ("STY", "1.pts-0")];
        assert_eq!(copier(&nested), None);
    }

    #[test]
    fn an_empty_clipboard_is_said() {
        let dir = tempfile::tempdir().unwrap();
        script(
            dir.path(),
            "xclip",
            "echo 'target TARGETS not available' >&2; exit 1",
        );
        let problem = read_with(dir.path(), false).unwrap_err();
        assert!(problem.what.contains("nothing on the clipboard"));
        script(dir.path(), "xclip", "echo image/x-odd");
        let problem = read_with(dir.path(), false).unwrap_err();
        assert!(problem.what.contains("neither an image nor text"));
    }
}
