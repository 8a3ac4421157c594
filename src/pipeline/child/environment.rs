//! The environment of a child: the variables of this process, with every one that bounds or directs a child set or removed explicitly.
//!
//! A child of a child must neither inherit a restriction that was meant for its parent alone nor lose one that its parent has.

use std::path::Path;

use super::Access;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::{
    LLM_PROVIDER, MARVIN_DEPTH, MARVIN_LEASH, MARVIN_MODEL, MARVIN_READONLY, MARVIN_SUBAGENT_LOG,
    MARVIN_TICKET, MARVIN_TOOLS, MARVIN_WRITABLE_FILES,
};
use crate::chat::pipeline_event::TierChoice;
use crate::disk::beneath::Root;
use crate::tools::engine::context::SessionContext;

/// How deep children of children may go.
const MAX_DEPTH: u64 = 5;

/// Variables that lead a child into another repository or another Python.
const MISLEADING: &[&str] = &["VIRTUAL_ENV", "CONDA_PREFIX"];
/// Git's own variables, such as `GIT_DIR`, which would make a child work on another repository.
const GIT_FAMILY: &str = "GIT_";

/// Says whether this process may start a child.
///
/// # Errors
/// It is as deep as a child may be.
pub(crate) fn check_depth(session: &SessionContext) -> Outcome<()> {
    if session.policy.depth < MAX_DEPTH {
        return Ok(());
    }
    Err(Problem::refused(format!(
        "This sub-agent is {} levels below the first Marvin and may start none of its own.",
        session.policy.depth
    ))
    .next("Do the work here, with the tools you have."))
}

/// The whole environment of a child that works in `root`.
///
/// # Errors
/// The depth limit is reached; none of the files that the child is to write may be written by this process.
pub(super) fn variables(
    session: &SessionContext,
    root: &Root,
    access: &Access,
    model: &TierChoice,
    tool_log: &Path,
) -> Outcome<Vec<(String, String)>> {
    check_depth(session)?;
    let provider = Some(model.provider.clone()).filter(|name| !name.is_empty());
    let bounds = session.policy.child_variables();
    let bound = |name: &str| {
        let found = bounds.iter().find(|(bound, _)| bound == name);
        found.map(|(_, value)| value.clone())
    };
    let set: [(&str, Option<String>); 9] = [
        (MARVIN_DEPTH.name, bound(MARVIN_DEPTH.name)),
        (MARVIN_MODEL.name, Some(model.model.clone())),
        (
            LLM_PROVIDER.name,
            provider.or_else(|| LLM_PROVIDER.read(&session.env).map(str::to_owned)),
        ),
        (
            MARVIN_TICKET.name,
            match access {
                Access::Write { ticket } => Some(ticket.clone()),
                Access::Read | Access::WriteFiles(_) => None,
            },
        ),
        (
            MARVIN_READONLY.name,
            match access {
                Access::Read => Some("1".to_owned()),
                Access::Write { .. } | Access::WriteFiles(_) => bound(MARVIN_READONLY.name),
            },
        ),
        (
            MARVIN_WRITABLE_FILES.name,
            match access {
                Access::WriteFiles(files) => Some(writable(session, root, files)?),
                Access::Read | Access::Write { .. } => bound(MARVIN_WRITABLE_FILES.name),
            },
        ),
        (
            MARVIN_TOOLS.name,
            bound(MARVIN_TOOLS.name).or_else(|| MARVIN_TOOLS.read(&session.env).map(str::to_owned)),
        ),
        (
            MARVIN_SUBAGENT_LOG.name,
            Some(tool_log.display().to_string()),
        ),
        (MARVIN_LEASH.name, Some("1".to_owned())),
    ];
    // Not what config.yaml adds: the child reads that itself.
    let mut variables: Vec<(String, String)> = session
        .env
        .all()
        .filter(|(name, value)| {
            let passes = !name.starts_with(GIT_FAMILY) && !MISLEADING.contains(name);
            passes && !value.contains('\0') && !set.iter().any(|(own, _)| own == name)
        })
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    variables.extend(
        set.into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?))),
    );
    Ok(variables)
}

/// The list of files that the child may write: those of `files` that this process may write itself.
fn writable(session: &SessionContext, root: &Root, files: &[String]) -> Outcome<String> {
    // An empty list would count as no list at all, and a comma would make two names of one.
    if files.is_empty() {
        return Err(Problem::internal("A child was to write no files at all."));
    }
    if let Some(file) = files.iter().find(|file| file.contains(',')) {
        return Err(Problem::input(format!(
            "\"{file}\" cannot be given to a child as the file it may write: its name has a comma."
        ))
        .next("Rename the file."));
    }
    let normal = |file: &String| file.trim().trim_start_matches("./").to_owned();
    let wanted = files.iter().map(normal);
    let Some(own) = &session.policy.writable else {
        return Ok(wanted.collect::<Vec<_>>().join(","));
    };
    let first = session.working_dir.first();
    let base = first.as_deref().unwrap_or(root).path();
    let allowed: Vec<String> = wanted
        .filter(|file| {
            own.iter()
                .any(|own| base.join(own) == root.path().join(file))
        })
        .collect();
    if allowed.is_empty() {
        return Err(Problem::refused(format!(
            "A child was to write {}, which this process may not write itself.",
            files.join(", ")
        ))
        .next(format!("It may write: {}.", own.join(", "))));
    }
    Ok(allowed.join(","))
}
