//! The environment of a child: the variables of this process, with every one that bounds or directs a child set or removed explicitly.
//!
//! A child of a child must neither inherit a restriction that was meant for its parent alone nor lose one that its parent has.

use std::path::Path;

use super::Access;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::{
    LLM_PROVIDER, MARVIN_ALLOWED_TOOLS, MARVIN_BRANCH, MARVIN_DEPTH, MARVIN_DISALLOWED_TOOLS,
    MARVIN_LEASH, MARVIN_MODEL, MARVIN_PARENT_SOCKET, MARVIN_PERMISSION_MODE, MARVIN_PROJECT_TEXTS,
    MARVIN_READONLY, MARVIN_SANDBOX, MARVIN_SANDBOX_EXCLUDE_TMP, MARVIN_SANDBOX_LOCAL_SOCKETS,
    MARVIN_SANDBOX_NETWORK, MARVIN_SANDBOX_WRITABLE, MARVIN_SUBAGENT_LOG, MARVIN_TELL_LINES,
    MARVIN_TICKET, MARVIN_TOOLS, MARVIN_WITHHELD_WORDS, MARVIN_WRITABLE_FILES,
};
use crate::chat::pipeline_event::TierChoice;
use crate::disk::beneath::Root;
use crate::store::project_texts::ProjectTexts;
use crate::tools::engine::context::SessionContext;

/// What a child for research has: besides its own tools those that look things up, as far as they change nothing.
const RESEARCH_TOOLS: &str = "sub-agent,web,wiki,stack,academic,utilities,github";
/// How deep children of children may go.
const MAX_DEPTH: u64 = 5;

/// Variables that lead a child into another repository or another Python, or are meant for its parent alone.
const MISLEADING: &[&str] = &[
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    MARVIN_BRANCH.name,
    MARVIN_WITHHELD_WORDS.name,
    MARVIN_TELL_LINES.name,
    MARVIN_PARENT_SOCKET.name,
];
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
pub(crate) fn variables(
    session: &SessionContext,
    root: &Root,
    access: &Access,
    texts: ProjectTexts,
    model: &TierChoice,
    tool_log: &Path,
) -> Outcome<Vec<(String, String)>> {
    check_depth(session)?;
    let provider = Some(model.provider.clone()).filter(|name| !name.is_empty());
    let bounds = session.child_variables();
    let bound = |name: &str| {
        let found = bounds.iter().find(|(bound, _)| bound == name);
        found.map(|(_, value)| value.clone())
    };
    let set: [(&str, Option<String>); 18] = [
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
                Access::Read | Access::Research | Access::WriteFiles(_) => None,
            },
        ),
        (
            MARVIN_READONLY.name,
            match access {
                Access::Read | Access::Research => Some("1".to_owned()),
                Access::Write { .. } | Access::WriteFiles(_) => bound(MARVIN_READONLY.name),
            },
        ),
        (
            MARVIN_WRITABLE_FILES.name,
            match access {
                Access::WriteFiles(files) => Some(writable(session, root, files)?),
                Access::Read | Access::Research | Access::Write { .. } => {
                    bound(MARVIN_WRITABLE_FILES.name)
                }
            },
        ),
        (
            MARVIN_TOOLS.name,
            bound(MARVIN_TOOLS.name)
                .or_else(|| MARVIN_TOOLS.read(&session.env).map(str::to_owned))
                .or_else(|| (*access == Access::Research).then(|| RESEARCH_TOOLS.to_owned())),
        ),
        (
            MARVIN_PROJECT_TEXTS.name,
            texts
                .beneath(ProjectTexts::of(&session.env))
                .word()
                .map(str::to_owned),
        ),
        (
            MARVIN_PERMISSION_MODE.name,
            bound(MARVIN_PERMISSION_MODE.name),
        ),
        (MARVIN_ALLOWED_TOOLS.name, bound(MARVIN_ALLOWED_TOOLS.name)),
        (
            MARVIN_DISALLOWED_TOOLS.name,
            bound(MARVIN_DISALLOWED_TOOLS.name),
        ),
        (MARVIN_SANDBOX.name, bound(MARVIN_SANDBOX.name)),
        (
            MARVIN_SANDBOX_NETWORK.name,
            bound(MARVIN_SANDBOX_NETWORK.name),
        ),
        (
            MARVIN_SANDBOX_WRITABLE.name,
            bound(MARVIN_SANDBOX_WRITABLE.name),
        ),
        (
            MARVIN_SANDBOX_EXCLUDE_TMP.name,
            bound(MARVIN_SANDBOX_EXCLUDE_TMP.name),
        ),
        (
            MARVIN_SANDBOX_LOCAL_SOCKETS.name,
            bound(MARVIN_SANDBOX_LOCAL_SOCKETS.name),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use crate::base::testing::assert_has;
    use crate::tools::engine::permission::gate::known_tools;
    use crate::tools::engine::permission::mode::PermissionMode;
    use crate::tools::engine::permission::permissions::{PermissionRules, Permissions};
    use crate::tools::engine::permission::rule::Rule;
    use crate::tools::engine::policy::ToolPolicy;
    use crate::tools::parse_groups;
    use std::collections::BTreeMap;

    const TEXTS: ProjectTexts = ProjectTexts::Instructions;

    fn session(vars: &[(&str, &str)], groups: Option<&str>, root: &Root) -> SessionContext {
        let vars = vars
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        let mut env = Env::new(vars);
        env.set_below("MARVIN_EFFORT", "of config.yaml".to_owned());
        let mut policy = ToolPolicy::new(&env, &mut |_| {});
        policy.groups = groups.and_then(|list| parse_groups(list).unwrap());
        let session = SessionContext::new(env, policy);
        session.working_dir.set(root.clone(), true);
        session
    }

    fn model(provider: &str) -> TierChoice {
        TierChoice {
            tier: "plan".to_owned(),
            provider: provider.to_owned(),
            model: "m".to_owned(),
            source: "default".to_owned(),
        }
    }

    fn of_child(
        session: &SessionContext,
        root: &Root,
        access: &Access,
    ) -> BTreeMap<String, String> {
        let log = Path::new("/p/.marvin/logs/a.tools.jsonl");
        let list = variables(session, root, access, TEXTS, &model("groq"), log).unwrap();
        let count = list.len();
        let map: BTreeMap<_, _> = list.into_iter().collect();
        assert_eq!(map.len(), count, "a variable is there twice: {map:?}");
        map
    }

    /// Everything that a child gets whose provider has no name.
    fn of_unnamed(
        session: &SessionContext,
        root: &Root,
        access: &Access,
    ) -> Outcome<Vec<(String, String)>> {
        variables(session, root, access, TEXTS, &model(""), Path::new("log"))
    }

    fn get<'a>(map: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
        map.get(name).map(String::as_str)
    }

    fn files(names: &[&str]) -> Access {
        Access::WriteFiles(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn every_variable_that_directs_a_child_is_set_or_removed() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let inherited = [
            ("PATH", "/bin"),
            ("OPENAI_API_KEY", "k"),
            ("MARVIN_SHELL", "sh"),
            ("GIT_DIR", "/elsewhere/.git"),
            ("GIT_WORK_TREE", "/elsewhere"),
            ("GIT_INDEX_FILE", "i"),
            ("VIRTUAL_ENV", "/venv"),
            ("CONDA_PREFIX", "/conda"),
            ("LLM_PROVIDER", "openai"),
            ("MARVIN_MODEL", "of-parent"),
            ("MARVIN_TICKET", "of-parent"),
            ("MARVIN_SUBAGENT_LOG", "of-parent"),
            ("MARVIN_PROJECT_TEXTS", "none"),
            ("MARVIN_PERMISSION_MODE", "of-parent"),
            ("MARVIN_ALLOWED_TOOLS", "of-parent"),
            ("MARVIN_DISALLOWED_TOOLS", "of-parent"),
            ("MARVIN_DEPTH", "2"),
        ];
        let session = session(&inherited, None, &root);
        let common = [
            ("LLM_PROVIDER", "groq"),
            ("MARVIN_DEPTH", "3"),
            ("MARVIN_LEASH", "1"),
            ("MARVIN_MODEL", "m"),
            ("MARVIN_PROJECT_TEXTS", "instructions"),
            ("MARVIN_SHELL", "sh"),
            ("MARVIN_SUBAGENT_LOG", "/p/.marvin/logs/a.tools.jsonl"),
            ("OPENAI_API_KEY", "k"),
            ("PATH", "/bin"),
        ];
        let write = Access::Write {
            ticket: "t-1".to_owned(),
        };
        for (access, own) in [
            (write, ("MARVIN_TICKET", "t-1")),
            (Access::Read, ("MARVIN_READONLY", "1")),
            (
                files(&["./a.md", "b/c.md"]),
                ("MARVIN_WRITABLE_FILES", "a.md,b/c.md"),
            ),
        ] {
            let map = of_child(&session, &root, &access);
            let wanted: BTreeMap<_, _> = common.into_iter().chain([own]).collect();
            let found: BTreeMap<_, _> = map.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
            assert_eq!(found, wanted, "{access:?}");
        }
    }

    #[test]
    fn a_child_has_the_permissions_of_this_process() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let mut session = session(&[], None, &root);
        let known = known_tools(&session.registry().all());
        let rules = |list: &str| Rule::parse_list(list, &known).unwrap();
        session.permissions = Permissions::new(PermissionRules {
            mode: Some(PermissionMode::AcceptEdits),
            allow: rules("git_* run_command(cargo test, -q:*)"),
            deny: rules("web_search"),
            ..PermissionRules::default()
        });
        let map = of_child(&session, &root, &Access::Read);
        assert_eq!(get(&map, "MARVIN_PERMISSION_MODE"), Some("acceptEdits"));
        assert_eq!(
            get(&map, "MARVIN_ALLOWED_TOOLS"),
            Some("git_*,run_command(cargo test, -q:*)")
        );
        assert_eq!(get(&map, "MARVIN_DISALLOWED_TOOLS"), Some("web_search"));
    }

    #[test]
    fn restrictions_of_this_process_are_kept_and_never_widened() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let write = Access::Write {
            ticket: "t-1".to_owned(),
        };
        let readonly = session(&[("MARVIN_READONLY", "1")], None, &root);
        for access in [&write, &Access::Read, &files(&["a.md"])] {
            let map = of_child(&readonly, &root, access);
            assert_eq!(get(&map, "MARVIN_READONLY"), Some("1"), "{access:?}");
        }
        let named = session(&[("MARVIN_WRITABLE_FILES", "a.md, ./d/b.md")], None, &root);
        for (access, list) in [
            (&write, "a.md,d/b.md"),
            (&Access::Read, "a.md,d/b.md"),
            (&files(&["./d/b.md", "c.md"]), "d/b.md"),
        ] {
            let map = of_child(&named, &root, access);
            assert_eq!(get(&map, "MARVIN_WRITABLE_FILES"), Some(list), "{access:?}");
        }
        let grouped = session(&[], Some("git,files"), &root);
        let map = of_child(&grouped, &root, &Access::Read);
        assert_eq!(get(&map, "MARVIN_TOOLS"), Some("git,files"));
        // Research is no way around them.
        let map = of_child(&grouped, &root, &Access::Research);
        assert_eq!(get(&map, "MARVIN_TOOLS"), Some("git,files"));
        let none = session(&[], Some("none"), &root);
        assert_eq!(
            get(&of_child(&none, &root, &write), "MARVIN_TOOLS"),
            Some("none")
        );
    }

    #[test]
    fn named_files_count_from_the_directory_in_which_this_process_started() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        let (root, sub) = (
            Root::open(dir.path()).unwrap(),
            Root::open(&dir.path().join("sub")).unwrap(),
        );
        let session = session(&[("MARVIN_WRITABLE_FILES", "sub/a.md,b.md")], None, &root);
        let map = of_child(&session, &sub, &files(&["a.md", "b.md"]));
        assert_eq!(get(&map, "MARVIN_WRITABLE_FILES"), Some("a.md"));
    }

    #[test]
    fn a_child_without_a_file_it_may_write_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let refusal = |vars: &[(&str, &str)], names: &[&str]| {
            let session = session(vars, None, &root);
            of_unnamed(&session, &root, &files(names)).unwrap_err()
        };
        let problem = refusal(&[("MARVIN_WRITABLE_FILES", "a.md")], &["b.md"]);
        assert_has(&problem.one_line(), &["It may write: a.md."]);
        // Two names would be made of one.
        assert!(refusal(&[], &["a,b.md"]).one_line().contains("comma"));
        // And no list at all of an empty one.
        refusal(&[], &[]);
    }

    #[test]
    fn children_go_five_deep() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        for (depth, allowed) in [("0", true), ("4", true), ("5", false), ("9", false)] {
            let session = session(&[("MARVIN_DEPTH", depth)], None, &root);
            assert_eq!(check_depth(&session).is_ok(), allowed, "{depth}");
            let list = of_unnamed(&session, &root, &Access::Read);
            assert_eq!(list.is_ok(), allowed, "{depth}");
        }
    }

    #[test]
    fn an_unnamed_provider_stays_what_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let session = session(&[("LLM_PROVIDER", "openai")], None, &root);
        let list = of_unnamed(&session, &root, &Access::Read).unwrap();
        assert!(list.contains(&("LLM_PROVIDER".to_owned(), "openai".to_owned())));
    }
}
