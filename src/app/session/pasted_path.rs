//! Pasted text that is the path of an image and nothing else: terminals write it when a file is dragged onto them, each in its own way.

use std::path::{Path, PathBuf};

use super::commands::{self, InputLine};
use crate::formats::address::decoded_whole;
use crate::formats::image::ImageKind;
use crate::tools::engine::context::SessionContext;

/// A longer text is no path.
const MAX_PATH_BYTES: usize = 4096;
/// What a URL of a file on this machine begins with (RFC 8089).
const FILE_URLS: [&str; 2] = ["file:///", "file://localhost/"];

/// Whether a mention in a message that begins with `draft` attaches something: in a command `@` means something else.
pub(crate) fn takes_mentions(draft: &str) -> bool {
    // More words follow: a word alone may be a command.
    matches!(commands::read(&format!("{draft} x")), InputLine::Message)
}

/// The paths of the image files that `pasted` names, with nothing else in it: one, or several that were dragged together. Looks at the disk only for names
/// of images. `None` when it is anything else.
pub(crate) fn images(pasted: &str, context: &SessionContext) -> Option<Vec<String>> {
    if let Some(one) = image(pasted, context) {
        return Some(vec![one]);
    }
    if pasted.len() > MAX_PATH_BYTES {
        return None;
    }
    let lines: Vec<&str> = pasted.trim().lines().collect();
    let several = match lines.len() {
        0 => return None,
        1 => shlex::split(pasted)?,
        _ => lines.into_iter().map(str::to_owned).collect(),
    };
    if several.is_empty() {
        return None;
    }
    several.iter().map(|one| image(one, context)).collect()
}

/// The path of the image file that `pasted` is, with nothing else in it.
fn image(pasted: &str, context: &SessionContext) -> Option<String> {
    let path = path(pasted)?;
    let (_, ending) = path.rsplit_once('.')?;
    ImageKind::of_ending(ending)?;
    let place = match (path.strip_prefix("~/"), context.env.get("HOME")) {
        (Some(rest), Some(home)) => Path::new(home).join(rest),
        _ => match context.working_dir.root() {
            Some(root) => root.path().join(&path),
            None => PathBuf::from(&path),
        },
    };
    let is_file = std::fs::metadata(place).is_ok_and(|about| about.is_file());
    is_file.then_some(path)
}

/// The path in `pasted`: a URL, quoted or escaped for a shell, or bare. `None` when there is none that a mention can name.
fn path(pasted: &str) -> Option<String> {
    if pasted.len() > MAX_PATH_BYTES {
        return None;
    }
    let text = pasted.trim();
    let url = FILE_URLS.iter().find(|start| text.starts_with(**start));
    let path = match url {
        // The path begins with the last slash.
        Some(start) => decoded_whole(text.get(start.len() - 1..)?)?,
        None => match shlex::split(text) {
            Some(words) if words.len() == 1 => words.into_iter().next()?,
            // A name with blanks or an apostrophe, as file managers copy it.
            _ => text.to_owned(),
        },
    };
    let cannot_be_named = |c: char| c.is_control() || c == '"';
    (!path.is_empty() && !path.contains(cannot_be_named)).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use crate::tools::engine::policy::ToolPolicy;

    #[test]
    fn a_path_is_read_as_terminals_write_it() {
        for (pasted, expected) in [
            ("/home/me/shot.png", "/home/me/shot.png"),
            ("'/home/me/my shot.png' ", "/home/me/my shot.png"),
            ("\"/home/me/my shot.png\"", "/home/me/my shot.png"),
            ("'/home/me/it'\\''s.png'", "/home/me/it's.png"),
            (
                "/home/me/my\\ shot\\ \\(1\\).png\n",
                "/home/me/my shot (1).png",
            ),
            ("/home/me/my shot.png", "/home/me/my shot.png"),
            ("/home/me/it's.png", "/home/me/it's.png"),
            ("file:///home/me/my%20shot.png\r\n", "/home/me/my shot.png"),
            (
                "file://localhost/home/me/%C3%A9t%c3%a9.png",
                "/home/me/été.png",
            ),
            ("~/shot.png", "~/shot.png"),
        ] {
            assert_eq!(path(pasted).as_deref(), Some(expected), "{pasted:?}");
        }
        for none in [
            "",
            " \n",
            "/a.png\n/b.png",
            "file:///a%2.png",
            "file:///a%0ab.png",
            "file:///%ff.png",
            "/tmp/a\\\"b.png",
        ] {
            assert_eq!(path(none), None, "{none:?}");
        }
        assert_eq!(path(&"x".repeat(MAX_PATH_BYTES + 1)), None);
    }

    #[test]
    fn only_a_file_that_is_there_and_is_named_like_an_image_counts() {
        let dir = tempfile::tempdir().unwrap();
        let context = SessionContext::new(Env::default(), ToolPolicy::default());
        let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        for name in [
            "a.png",
            "b.JPG",
            "c.jpeg",
            "d.gif",
            "e f.webp",
            "notes.txt",
            "png",
        ] {
            std::fs::write(at(name), "x").unwrap();
        }
        std::fs::create_dir(at("folder.png")).unwrap();
        for name in ["a.png", "b.JPG", "c.jpeg", "d.gif", "e f.webp"] {
            assert_eq!(image(&at(name), &context), Some(at(name)));
        }
        for name in ["notes.txt", "png", "folder.png", "missing.png"] {
            assert_eq!(image(&at(name), &context), None, "{name}");
        }
        let two = format!("{} {}", at("a.png"), at("d.gif"));
        assert_eq!(image(&two, &context), None);
        // Files that were dragged together.
        let both = Some(vec![at("a.png"), at("d.gif")]);
        assert_eq!(images(&two, &context), both);
        let urls = format!("file://{}\nfile://{}\n", at("a.png"), at("d.gif"));
        assert_eq!(images(&urls, &context), both);
        let mixed = format!("{} {}", at("a.png"), at("notes.txt"));
        for none in ["", "# words", mixed.as_str()] {
            assert_eq!(images(none, &context), None, "{none}");
        }
    }

    #[test]
    fn commands_take_no_mentions() {
        for message in ["", "what is", "/usr/bin is", "usage"] {
            assert!(takes_mentions(message), "{message}");
        }
        for command in ["!", "!file", "/tool read_file", "/sh ls", "/nosuch"] {
            assert!(!takes_mentions(command), "{command}");
        }
    }
}
