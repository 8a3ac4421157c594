//! The entry of a server that a command uses, and how it signs in.

use std::path::PathBuf;
use std::sync::Arc;

use super::console::sign_in_here;
use super::target;
use crate::app::settings::Settings;
use crate::app::setup::is_project;
use crate::app::stream::say;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::one_line;
use crate::disk::paths::Paths;
use crate::mcp::auth::policy::SignInPolicy;
use crate::mcp::auth::signed_in::SignedIn;
use crate::mcp::config::configured::Source;
use crate::mcp::config::entry::ServerEntry;
use crate::mcp::config::expand::Variables;
use crate::mcp::config::files;
use crate::store::trusted_projects::{ProjectFolder, TrustKind, TrustedProjects};
use crate::tools::engine::project_trust::RunTrust;

/// The server of this name, and its credentials; with `signs_in` the user signs in when the server wants it.
///
/// # Errors
/// There is none, its entry is wrong, or the user has not agreed to that of a project.
pub(super) fn find(
    name: &str,
    settings: &Settings,
    signs_in: bool,
) -> Outcome<(ServerEntry, Option<Arc<SignedIn>>)> {
    let entry = entry(name, settings, true)?;
    let policy = match signs_in {
        true => sign_in_here(&settings.env),
        false => SignInPolicy::Never,
    };
    let credentials = signed_in(&entry, settings, policy)?;
    Ok((entry, credentials.map(Arc::new)))
}

/// What is known of the sign-in to a server; nothing of one that is a program.
///
/// # Errors
/// Its entry is wrong.
pub(super) fn signed_in(
    entry: &ServerEntry,
    settings: &Settings,
    policy: SignInPolicy,
) -> Outcome<Option<SignedIn>> {
    SignedIn::of(entry, &settings.env, &Clock::new(&settings.env), policy)
}

/// The server of this name; one that is used has to be enabled.
///
/// # Errors
/// There is none, its entry is wrong, it is disabled, or the user has not agreed to that of a project.
pub(super) fn entry(name: &str, settings: &Settings, is_used: bool) -> Outcome<ServerEntry> {
    let folder = target::folder(settings);
    let (servers, faults) = files::read_all(&settings.env, folder);
    faults.iter().for_each(|fault| say(&fault.one_line()));
    let server = files::find(servers, name)?;
    if is_used && server.is_disabled() {
        let shown = shlex::try_quote(name).unwrap_or_default();
        let whose = match server.source {
            Source::Project => " --project",
            Source::User | Source::Client => "",
        };
        return Err(
            Problem::refused(format!("The MCP server {} is disabled.", one_line(name)))
                .next(format!("Enable it: marvin mcp enable {shown}{whose}")),
        );
    }
    let is_trusted = matches!(
        settings.access.trust,
        RunTrust::Everything | RunTrust::Servers
    );
    if server.source == Source::Project && !is_trusted {
        let trusted = TrustedProjects::read(&Paths::new(&settings.env))?;
        let agrees = folder.is_some_and(|folder| {
            trusted.agrees(
                &ProjectFolder::around(folder),
                TrustKind::Server,
                &server.hash(),
            )
        });
        if !agrees {
            return Err(Problem::refused(format!(
                "The server \"{}\" is the project's, and you have not agreed to it: {}{}",
                one_line(name),
                server.target(),
                server.given()
            ))
            .next("Agree to it with marvin trust, or in a conversation in this folder; or give --trust-project-mcp before mcp."));
        }
    }
    let resolved = server.resolve(Variables {
        env: &settings.env,
        folder,
        is_literal: false,
    });
    let (entry, notices) = resolved.map_err(|problem| Problem {
        what: format!(
            "The MCP server {} cannot be used: {}",
            one_line(name),
            problem.what
        ),
        ..problem
    })?;
    for notice in notices {
        say(&format!("{}: {notice}", one_line(name)));
    }
    Ok(entry)
}

/// The folder that servers may work in: the given one, or the current one if it is a project.
pub(super) fn working_dir(settings: &Settings) -> Option<PathBuf> {
    let current = settings.process.current.as_ref();
    let current = current.filter(|current| is_project(&settings.env, current));
    settings.working_dir.as_ref().or(current).cloned()
}
