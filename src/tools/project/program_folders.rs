//! Folders from which others run programs or read what they run. Commands in the sandbox may change the working directory, so a model that nobody
//! watches does not choose one of these.

use std::path::{Path, PathBuf};

use crate::base::problem::{Outcome, Problem};
use crate::disk::beneath::Root;
use crate::tools::engine::approval::Approval;
use crate::tools::engine::context::ToolContext;

/// The system's; the one in which the home folder lies is left out.
const OF_SYSTEM: [&str; 14] = [
    "/bin",
    "/boot",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/usr",
    "/var",
    // Also where a service has its home elsewhere in /var.
    "/var/spool",
];
/// What of them is for everybody.
const FREE: &str = "/var/tmp";
/// Those of home, beside the hidden ones, that login shells and tools search as soon as they are there.
const OF_HOME: [&str; 3] = ["bin", "go/bin", "go/pkg"];

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

/// Whether programs are run from `dir`, a real path: of the system, of a search path, or by what lies in a folder of home that is hidden or known for it.
fn runs_from(dir: &Path, home: Option<&Path>, search_path: &str) -> bool {
    let is_systems = OF_SYSTEM.iter().any(|folder| {
        let has_home = home.is_some_and(|home| home.starts_with(folder));
        !has_home && dir.starts_with(folder)
    }) && !dir.starts_with(FREE);
    let below_home = home.and_then(|home| dir.strip_prefix(home).ok());
    let is_homes = below_home.is_some_and(|below| {
        let is_hidden = below.as_os_str().as_encoded_bytes().starts_with(b".");
        // The folder around one counts as well, but home itself, which is refused elsewhere.
        let is_one = |own: &str| {
            let is_around = below.iter().next().is_some() && Path::new(own).starts_with(below);
            is_around || below.starts_with(own)
        };
        is_hidden || OF_HOME.into_iter().any(is_one)
    });
    let mut searched = search_path
        .split(':')
        .filter(|entry| entry.starts_with('/'));
    let is_searched = searched.any(|entry| {
        let real = Path::new(entry).canonicalize();
        // And the folder around it, as `go` is around `go/bin`.
        real.is_ok_and(|real| dir.starts_with(&real) || real.parent() == Some(dir))
    });
    is_systems || is_homes || is_searched
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
            ("/opt", true),
            ("/srv/app", true),
            ("/var", true),
            ("/var/lib/dpkg/info", true),
            ("/var/tmp/work", false),
            ("bin", true),
            ("binary", false),
            ("go/pkg/mod", true),
            ("go/src/project", false),
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
        let service = Some(Path::new("/var/lib/service"));
        assert!(!runs_from(Path::new("/var/lib/service/x"), service, ""));
        assert!(runs_from(Path::new("/var/spool/cron"), service, ""));
        assert!(runs_from(
            Path::new("/root/.x"),
            Some(Path::new("/root")),
            ""
        ));
    }
}
