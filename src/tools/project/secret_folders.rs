//! Folders that a model never works in: keys, sign-ins, what Marvin keeps about the user, and what the system tells of its processes and devices. They are
//! told by what they are on the disk, so that links, `..` and letter case change nothing.

use std::path::{Path, PathBuf};

use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::disk::beneath::Root;
use crate::tools::engine::context::ToolContext;

/// Below the home folder.
const IN_HOME: [&str; 4] = [".ssh", ".gnupg", ".aws", ".config/gh"];
/// The system's.
const OF_SYSTEM: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Variables that say that GnuPG's or GitHub's folder is another one.
const MOVED_BY: [&str; 2] = ["GNUPGHOME", "GH_CONFIG_DIR"];

/// Refuses `root` if it is a folder of secrets, lies in one, or holds one: all of them would be open to reading tools.
///
/// # Errors
/// It is, or the folders above it cannot be read.
pub(super) fn check(root: &Root, ctx: &ToolContext) -> Outcome<()> {
    let mut folders = known(&ctx.session.env);
    folders.extend(ctx.session.paths.config().ok().map(Path::to_owned));
    for folder in folders {
        // What does not exist, or may not be entered, cannot be read either.
        let Ok(secret) = Root::open(&folder) else {
            continue;
        };
        let how = match (secret.holds(root)?, root.holds(&secret)?) {
            (true, _) => "belongs to",
            (false, true) => "holds",
            (false, false) => continue,
        };
        return Err(Problem::refused(format!(
            "{} cannot be the working directory: it {how} {}, which models do not get to read.",
            root.path().display(),
            folder.display()
        ))
        .next(
            "Choose a project's folder. Only the user can start Marvin there: --working-dir DIR.",
        ));
    }
    Ok(())
}

fn known(env: &Env) -> Vec<PathBuf> {
    let home = env.get("HOME").map(Path::new).into_iter();
    let in_home = home.flat_map(|home| IN_HOME.iter().map(|name| home.join(name)));
    let config = env
        .get("XDG_CONFIG_HOME")
        .map(|dir| Path::new(dir).join("gh"));
    let moved = MOVED_BY
        .iter()
        .filter_map(|name| env.get(name).map(PathBuf::from));
    let of_system = OF_SYSTEM.iter().map(PathBuf::from);
    let all = in_home.chain(config).chain(moved).chain(of_system);
    all.filter(|folder| folder.is_absolute()).collect()
}
