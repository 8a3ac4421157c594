//! The folder of the tickets, and the ids of new ones.

use std::path::{Path, PathBuf};

use crate::base::env::Env;
use crate::base::ids;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::TICKETS_DIR;
use crate::disk::atomic::Access;
use crate::disk::paths::TICKETS;
use crate::store::tickets::folder::Folder;

/// The folder of the tickets, which may not exist yet.
#[derive(Debug, Clone)]
pub(crate) struct TicketLocation {
    dir: PathBuf,
    /// The value of `TICKETS_DIR`, if the folder comes from it.
    from_variable: Option<String>,
    /// Permissions of the folder if it is created.
    access: Access,
    /// The folder whose name is the prefix of new ids.
    pub current: PathBuf,
}

impl TicketLocation {
    /// Finds the folder like the script: `TICKETS_DIR`, else the nearest `.tickets` at or above `current`.
    pub(crate) fn from(env: &Env, current: &Path) -> Self {
        let at = |dir: PathBuf, named| Self {
            dir,
            from_variable: named,
            access: Access::Usual,
            current: current.to_owned(),
        };
        if let Some(named) = TICKETS_DIR.read(env) {
            return at(current.join(named), Some(named.to_owned()));
        }
        let near = current
            .ancestors()
            .map(|dir| dir.join(TICKETS))
            .find(|dir| dir.is_dir());
        match near {
            Some(dir) => at(dir, None),
            None => at(current.join(TICKETS), None),
        }
    }

    /// The same for what belongs to the repository with the folder `top`: a `.tickets` above it is of somebody else.
    pub(crate) fn within(env: &Env, current: &Path, top: &Path) -> Self {
        let found = Self::from(env, current);
        let is_outside = found.from_variable.is_none() && !found.dir.starts_with(top);
        match is_outside && current.starts_with(top) {
            true => Self {
                dir: current.join(TICKETS),
                ..found
            },
            false => found,
        }
    }

    /// The folder `dir`, which exists, for the project in `current`.
    pub(crate) fn at(dir: &Path, current: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            from_variable: None,
            access: Access::Usual,
            current: current.to_owned(),
        }
    }

    /// The user's own tickets in `dir`, unless `TICKETS_DIR` is set.
    pub(crate) fn own(env: &Env, dir: PathBuf, current: &Path) -> Self {
        if TICKETS_DIR.read(env).is_some() {
            return Self::from(env, current);
        }
        Self {
            from_variable: None,
            access: Access::Private,
            current: dir
                .parent()
                .map_or_else(|| current.to_owned(), Path::to_owned),
            dir,
        }
    }

    /// Refuses a `.tickets` that is a symlink to somewhere else: somebody else's repository must not show or change files outside. `TICKETS_DIR` is
    /// the user's own choice and is not checked.
    ///
    /// # Errors
    /// It is such a symlink.
    pub(crate) fn check_inside(self) -> Outcome<Self> {
        let is_link = self
            .dir
            .symlink_metadata()
            .is_ok_and(|about| about.is_symlink());
        if self.from_variable.is_some() || !is_link {
            return Ok(self);
        }
        let folder = self.dir.parent().and_then(|dir| dir.canonicalize().ok());
        let target = self.dir.canonicalize().ok();
        match (folder, target) {
            (Some(folder), Some(target)) if target.starts_with(&folder) => Ok(self),
            _ => Err(Problem::refused(format!(
                "{} is a symbolic link that leads out of the project, so its tickets are not touched.",
                self.dir.display()
            ))
            .next("If that is where the tickets are meant to be, set TICKETS_DIR to that folder.")),
        }
    }

    /// Whether there are no tickets yet, which is not an error.
    pub(crate) fn is_new(&self) -> bool {
        self.from_variable.is_none() && !self.dir.is_dir()
    }

    /// The folder, which must exist.
    ///
    /// # Errors
    /// With the script's message.
    pub(crate) fn open(&self) -> Outcome<Folder> {
        if self.dir.is_dir() {
            return Ok(Folder::new(&self.dir));
        }
        Err(match &self.from_variable {
            Some(named) => Problem::missing(format!("tickets directory '{named}' does not exist"))
                .next("Create a ticket to make it, or fix TICKETS_DIR."),
            None => Problem::missing("no .tickets directory found (searched parent directories)")
                .next("Run 'tk create' to initialize, or set TICKETS_DIR env var"),
        })
    }

    /// The folder, created if necessary.
    pub(crate) fn make(&self) -> Outcome<Folder> {
        crate::store::tickets::folder::make(&self.dir, self.access)
    }

    /// A new id. Whether it is unused is known when its file is created.
    pub(crate) fn new_id(&self) -> String {
        let name = self.current.file_name().unwrap_or_default();
        format!("{}-{}", prefix(&name.to_string_lossy()), word())
    }
}

/// The initials of the parts of a folder's name, else its first three characters.
pub(crate) fn prefix(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    let parts = name.split(['-', '_', ' ']);
    let letters: String = parts
        .filter_map(|part| part.chars().next())
        .filter(|c| c.is_alphanumeric())
        .take(16)
        .collect();
    if letters.chars().count() >= 2 {
        return letters;
    }
    // Without characters that would hide the file or break a list of ids.
    let start: String = name
        .chars()
        .filter(|c| plain(*c))
        .skip_while(|c| matches!(c, '.' | '-'))
        .take(3)
        .collect();
    if start.is_empty() {
        "tk".to_owned()
    } else {
        start
    }
}

/// Four characters of `a-z0-9`.
fn word() -> String {
    const DIGITS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut number = u64::from_str_radix(&ids::hex(8), 16).unwrap_or_default();
    let mut word = String::new();
    for _ in 0..4 {
        let digit = usize::try_from(number % 36).unwrap_or_default();
        word.push(char::from(DIGITS.get(digit).copied().unwrap_or(b'a')));
        number /= 36;
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_come_from_the_folders_name() {
        for (name, wanted) in [
            ("ticket_test_abc", "tta"),
            ("Foo Bar", "FB"),
            ("X", "X"),
            ("marvin", "mar"),
            ("my-app", "ma"),
            (".config", "con"),
            ("_lead", "_le"),
            ("-x", "x"),
            ("a-[b", "a-b"),
            ("", "tk"),
            ("--", "tk"),
            ("größe-ä", "gä"),
            ("😀", "tk"),
        ] {
            assert_eq!(prefix(name), wanted, "{name}");
        }
        assert_eq!(word().len(), 4);
        assert_ne!((word(), word()), (word(), word()));
    }

    #[test]
    fn the_nearest_folder_upwards_is_taken_and_the_variable_wins() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        let none = Env::default();
        assert!(TicketLocation::from(&none, &deep).open().is_err());
        std::fs::create_dir(dir.path().join(".tickets")).unwrap();
        let found = TicketLocation::from(&none, &deep).open().unwrap();
        assert_eq!(found.file("a"), dir.path().join(".tickets/a.md"));
        let env = Env::from([("TICKETS_DIR", "other")]);
        let message = TicketLocation::from(&env, &deep)
            .open()
            .unwrap_err()
            .one_line();
        assert!(
            message.starts_with("tickets directory 'other' does not exist"),
            "{message}"
        );
        TicketLocation::from(&env, &deep).make().unwrap();
        assert!(deep.join("other").is_dir());
        assert!(
            TicketLocation::own(&env, dir.path().join("mine"), &deep)
                .open()
                .is_ok()
        );
    }
}
