//! A skill, and what is read of it.

use std::fs::{Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::base::problem::{Outcome, Problem};
use crate::disk::beneath::Root;
use crate::formats::skill_file::SkillFile;
use crate::store::trusted_projects::digest;

/// The file that makes a folder a skill.
pub(super) const SKILL_FILE: &str = "SKILL.md";
/// Bytes of a `SKILL.md` that are read for the catalogue.
const HEAD_BYTES: u64 = 16 << 10;
/// Bytes of a skill's instructions, and of a file of a skill.
const MAX_TEXT_BYTES: u64 = 256 << 10;

/// Whose a skill is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkillOwner {
    Project,
    User,
}

/// A skill that was found.
#[derive(Debug, Clone)]
pub(crate) struct Skill {
    /// The name of its folder.
    pub name: String,
    pub dir: PathBuf,
    pub owner: SkillOwner,
    pub file: SkillFile,
    /// One of its name was found before, at this place: that one counts.
    pub shadowed_by: Option<PathBuf>,
    /// Its name is none, so that nobody can call it.
    pub is_nameless: bool,
}

impl Skill {
    /// Whether somebody can use it at all.
    pub(crate) fn is_usable(&self) -> bool {
        self.shadowed_by.is_none() && !self.is_nameless
    }

    /// Whether the model is told of it.
    pub(crate) fn is_offered(&self) -> bool {
        self.is_usable() && !self.file.is_for_user_alone && !self.file.description.is_empty()
    }

    /// The SHA-256 of the rules by which it wants calls to run unasked: what a project's skill wants counts only if the user saw it. Empty where it wants none.
    pub(crate) fn rules_digest(&self) -> String {
        match self.file.allowed_tools.is_empty() {
            true => String::new(),
            false => {
                let rules = self.file.allowed_tools.join("\n");
                digest(format!("{}\n{rules}", self.name).as_bytes())
            }
        }
    }

    /// Its instructions.
    ///
    /// # Errors
    /// The file is gone, no text, or leads out of the skill's folder.
    pub(crate) fn instructions(&self) -> Outcome<String> {
        let text = self.read(SKILL_FILE)?;
        let body = SkillFile::parse(&text).body;
        Ok(text.get(body..).unwrap_or_default().trim().to_owned())
    }

    /// A file below its folder: text of at most [`MAX_TEXT_BYTES`], else its beginning and a note.
    ///
    /// # Errors
    /// There is none, it is no text, or it leads out of the skill's folder.
    pub(crate) fn read(&self, file: &str) -> Outcome<String> {
        // The folder was found without links; one that was put in its place since leads elsewhere.
        let root = Root::open(&self.dir)?.called(format!("folder of the skill {}", self.name));
        if root.path() != self.dir {
            return Err(Problem::refused(format!(
                "The folder of the skill {} was replaced by a link.",
                self.name
            ))
            .next("Tell the user."));
        }
        let opened = root.open_read(&root.check(file)?)?;
        let fail = |error| {
            Problem::system(
                format!("Cannot read {file} of the skill {}", self.name),
                error,
            )
        };
        let length = opened.metadata().map_err(fail)?.len();
        let mut bytes = Vec::new();
        opened
            .take(MAX_TEXT_BYTES)
            .read_to_end(&mut bytes)
            .map_err(fail)?;
        if bytes.contains(&0) {
            return Err(
                Problem::input(format!("{file} of the skill {} is no text.", self.name))
                    .next("Run a program on it (run_command), if its instructions say so."),
            );
        }
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if length > MAX_TEXT_BYTES {
            text.push_str(&format!(
                "\n[Cut after {MAX_TEXT_BYTES} of {length} bytes.]"
            ));
        }
        Ok(text)
    }
}

/// The beginning of a regular file that is no link.
pub(super) fn head(path: &Path) -> Option<String> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
        .open(path)
        .ok()?;
    let about = file.metadata().ok().filter(Metadata::is_file)?;
    // Room for all of it, so that it is one read and not one for each doubling of the room.
    let most = about.len().min(HEAD_BYTES);
    let mut bytes = Vec::with_capacity(usize::try_from(most).unwrap_or_default() + 1);
    file.take(HEAD_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8(bytes);
    Some(text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
