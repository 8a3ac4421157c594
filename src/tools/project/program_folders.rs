//! Folders from which others run programs or read what they run. Commands in the sandbox may change the working directory, so a model that nobody
//! watches does not choose one of these.

use std::path::{Path, PathBuf};

use crate::base::problem::{Outcome, Problem};
use crate::disk::beneath::Root;
use crate::tools::engine::approval::Approval;
use crate::tools::engine::context::ToolContext;

/// The system's; the one in which the home folder lies is left out.
const OF_SYSTEM: [&str; 11] = [
    "/bin",
    "/boot",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/root",
    "/run",
    "/sbin",
    "/usr",
    "/var/spool",
];

/// Refuses `root` if it is one, where commands are fenced and nobody is asked.
///
/// # Errors
/// It is.
pub(super) fn check(root: &Root, ctx: &ToolContext) -> Outcome<()> {
    let is_watched = matches!(ctx.approval, Approval::Ask(_)) || ctx.approval.is_user_invoked();
    if is_watched || ctx.session.sandbox.fence().is_none() {
        return Ok(());
    }
    let env = &ctx.session.env;
    let home = env.get("HOME").map(PathBuf::from);
    let home = home.and_then(|home| home.canonicalize().ok());
    let search_path = env.get("PATH").unwrap_or_default().to_owned();
    match runs_from(root.path(), home.as_deref(), &search_path) {
        false => Ok(()),
        true => Err(Problem::refused(format!(
            "{} cannot be the working directory: programs are run from there, and commands in the sandbox could change them.",
            root.path().display()
        ))
        .next("Choose a project's folder. Only the user can start Marvin there: --working-dir DIR.")),
    }
}

/// Whether programs are run from `dir`, a real path: of the system, of a search path, or by what lies in a hidden folder of home.
fn runs_from(dir: &Path, home: Option<&Path>, search_path: &str) -> bool {
    let is_systems = OF_SYSTEM.iter().any(|folder| {
        let has_home = home.is_some_and(|home| home.starts_with(folder));
        !has_home && dir.starts_with(folder)
    });
    let below_home = home.and_then(|home| dir.strip_prefix(home).ok());
    let first = below_home.and_then(|below| below.iter().next());
    let is_hidden = first.is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let mut searched = search_path
        .split(':')
        .filter(|entry| entry.starts_with('/'));
    let is_searched = searched.any(|entry| {
        let real = Path::new(entry).canonicalize();
        // And the folder around it, as `go` is around `go/bin`.
        real.is_ok_and(|real| dir.starts_with(&real) || real.parent() == Some(dir))
    });
    is_systems || is_hidden || is_searched
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_run_from_the_system_search_paths_and_hidden_folders_of_home() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join("go/bin")).unwrap();
        let path = format!("relative:{}", home.join("go/bin").display());
        for (place, expected) in [
            ("/etc", true),
            ("/usr/local/bin", true),
            ("/root", true),
            ("/usrlike", false),
            (".local/bin", true),
            (".config/systemd/user", true),
            ("go", true),
            ("go/bin/sub", true),
            ("", false),
            ("project", false),
            ("project/.venv/bin", false),
        ] {
            let place = home.join(place);
            assert_eq!(runs_from(&place, Some(&home), &path), expected, "{place:?}");
        }
        // A service's home may lie there.
        assert!(!runs_from(
            Path::new("/root/x"),
            Some(Path::new("/root")),
            ""
        ));
        assert!(runs_from(
            Path::new("/root/.x"),
            Some(Path::new("/root")),
            ""
        ));
    }
}
