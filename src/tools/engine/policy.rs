//! The tools this process may use, depending on mode, restrictions, depth and the groups the user selected.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::env::Env;
use crate::base::problem::Problem;
use crate::base::variables::{MARVIN_DEPTH, MARVIN_READONLY, MARVIN_TOOLS, MARVIN_WRITABLE_FILES};
use crate::tools::engine::permission::rule::Rule;
use crate::tools::engine::rules::{Rules, SideEffect};

/// In the place of a group: whatever a sub-agent has.
pub(crate) const SUB_AGENT: &str = "sub-agent";

/// The restrictions of this process, read once from its environment.
#[derive(Debug, Clone, Default)]
pub struct ToolPolicy {
    /// `MARVIN_READONLY`: no tool that changes more than Marvin's own memory.
    pub readonly: bool,
    /// `MARVIN_WRITABLE_FILES`: the only files that may be written.
    pub writable: Option<Vec<String>>,
    /// `MARVIN_DEPTH`: how many Marvin processes are above this one.
    pub depth: u64,
    /// `--tools`: the only modules offered.
    pub groups: Option<Vec<&'static str>>,
    /// The same for tools of servers, which come and go.
    pub(crate) server_tools: Vec<Rule>,
    /// `--disallowed-tools`: tools about which one of these says everything are not offered. What they say else is for the permissions.
    pub(crate) disallowed: Vec<Rule>,
    /// A person can be asked to let a command run outside the sandbox.
    pub(crate) can_ask_to_leave_sandbox: bool,
    /// The sandbox of commands is read-only: no tool that changes files either, which Marvin would do in their place.
    pub(crate) is_sandbox_read_only: Arc<AtomicBool>,
}

impl ToolPolicy {
    /// The restrictions in the environment; `--tools` is left open.
    pub fn new(env: &Env, warn: &mut dyn FnMut(String)) -> Self {
        let writable = MARVIN_WRITABLE_FILES.read(env).map(|list| {
            list.split(',')
                .map(|path| path.trim().trim_start_matches("./").to_owned())
                .filter(|path| !path.is_empty())
                .collect()
        });
        Self {
            readonly: MARVIN_READONLY.read(env),
            writable,
            depth: MARVIN_DEPTH.read(env, warn),
            groups: None,
            server_tools: Vec::new(),
            disallowed: Vec::new(),
            can_ask_to_leave_sandbox: false,
            is_sandbox_read_only: Arc::default(),
        }
    }

    /// Whether a rule takes the tool away altogether.
    pub(super) fn removes(&self, name: &str) -> bool {
        let mut rules = self.disallowed.iter();
        rules.any(|rule| rule.is_about_all_of(name))
    }

    /// The variables by which a Marvin that this process starts, directly or from a command, is bounded at least as this one is.
    pub(crate) fn child_variables(&self) -> Vec<(String, String)> {
        let mut variables = vec![(
            MARVIN_DEPTH.name.to_owned(),
            self.depth.saturating_add(1).to_string(),
        )];
        if self.readonly {
            variables.push((MARVIN_READONLY.name.to_owned(), "1".to_owned()));
        }
        if let Some(files) = &self.writable {
            variables.push((MARVIN_WRITABLE_FILES.name.to_owned(), files.join(",")));
        }
        if let Some(groups) = &self.groups {
            let groups = match groups.is_empty() {
                true => "none".to_owned(),
                false => groups.join(","),
            };
            variables.push((MARVIN_TOOLS.name.to_owned(), groups));
        }
        variables
    }

    /// Why the tool `name` of `module` is not available here, if it is not. `writers` are the tools that check each file that they write against the list.
    pub(super) fn refusal(
        &self,
        name: &str,
        module: &str,
        rules: &Rules,
        writers: impl FnOnce() -> Vec<&'static str>,
    ) -> Option<Problem> {
        let refused = |reason: &str, next: &str| {
            Some(Problem::refused(format!("{name} is not available here: {reason}.")).next(next))
        };
        if self.readonly && !rules.effect.is_read_only() {
            return refused(
                "this process is read-only (MARVIN_READONLY)",
                "Report what you would change instead.",
            );
        }
        let changes_files = matches!(
            rules.effect,
            SideEffect::ProjectFiles | SideEffect::UserFiles
        ) || rules.saves_files;
        if changes_files && self.is_sandbox_read_only.load(Ordering::Relaxed) {
            return refused(
                "the sandbox of this session is read-only",
                "Report what you would change instead. The user can allow it: --sandbox workspace-write.",
            );
        }
        if let Some(files) = &self.writable
            && !rules.effect.keeps_to_named_files()
        {
            return refused(
                "this process may only write the files named in MARVIN_WRITABLE_FILES",
                &format!("Use {} on: {}.", writers().join(" or "), files.join(", ")),
            );
        }
        let is_chosen = |groups: &[&str]| {
            groups.contains(&module)
                || groups.contains(&name)
                || rules.in_children && groups.contains(&SUB_AGENT)
                || self
                    .server_tools
                    .iter()
                    .any(|rule| rule.is_about_all_of(name))
        };
        match &self.groups {
            Some(groups) if !rules.of_run && !is_chosen(groups) => refused(
                "its group was not chosen with --tools",
                &format!(
                    "Offered groups: {}.",
                    if groups.is_empty() {
                        "none".to_owned()
                    } else {
                        groups.join(", ")
                    }
                ),
            ),
            None if self.depth > 0 && !rules.in_children => refused(
                "a sub-agent has only the tools for work on a project",
                "Do the task with those.",
            ),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use crate::tools::engine::registry::Registry;
    use crate::tools::{all, parse_groups};

    fn offered(vars: &[(&str, &str)]) -> Vec<String> {
        let env = Env::new(vars.iter().map(|(k, v)| ((*k).into(), (*v).into())));
        let mut policy = ToolPolicy::new(&env, &mut |_| {});
        if let Some(list) = env.get("MARVIN_TOOLS") {
            policy.groups = parse_groups(list).unwrap();
        }
        let tools = Registry::default().allowed(&policy);
        tools.iter().map(|tool| tool.name().to_owned()).collect()
    }

    fn has(tools: &[String], name: &str) -> bool {
        tools.iter().any(|tool| tool == name)
    }

    #[test]
    fn a_read_only_process_keeps_what_changes_nothing_but_marvins_memory() {
        let left = offered(&[("MARVIN_READONLY", "1")]);
        let changing = all()
            .filter(|tool| has(&left, tool.name) && !tool.rules.effect.is_none())
            .map(|tool| tool.name);
        assert_eq!(
            changing.collect::<Vec<_>>(),
            [
                "write_note",
                "notes_mkdir",
                "set_working_dir",
                "wiki_full",
                "exit_app",
                "timer_start",
                "timer_stop",
                "ntfy_list",
                "create_ticket",
                "ticket_start",
                "ticket_close",
                "ticket_add_note",
                "ticket_add_dep",
                "tk",
                "compact_history",
                "blender_screenshot",
                "launch_research_agent",
            ]
        );
        for gone in "create_file append_file apply_patch file_apply_patch git_commit git_checkout \
            run_command install_packages launch_agent review_codebase blender_create_object \
            blender_modify_object blender_delete_object blender_set_material \
            blender_execute_code download_file github_clone ntfy_publish set_alarm \
            calendar_add_event update_preferences"
            .split_ascii_whitespace()
        {
            assert!(!has(&left, gone), "{gone}");
        }
    }

    #[test]
    fn a_read_only_sandbox_takes_away_what_changes_files_and_no_more() {
        let policy = ToolPolicy {
            is_sandbox_read_only: Arc::new(AtomicBool::new(true)),
            ..ToolPolicy::default()
        };
        let tools = Registry::default().allowed(&policy);
        let has = |name: &str| tools.iter().any(|tool| tool.name() == name);
        for kept in "run_command read_file write_note update_preferences launch_agent git_status"
            .split_ascii_whitespace()
        {
            assert!(has(kept), "{kept}");
        }
        for gone in "create_file append_file apply_patch file_apply_patch git_commit git_checkout \
            download_file yt_dlp_download github_clone install_packages review_codebase set_alarm \
            cancel_alarm calendar_add_event calendar_delete_event blender_execute_code"
            .split_ascii_whitespace()
        {
            assert!(!has(gone), "{gone}");
        }
    }

    #[test]
    fn restricted_children_keep_file_tools_but_no_shell() {
        let left = offered(&[
            ("MARVIN_WRITABLE_FILES", "a.md,b.md"),
            ("MARVIN_DEPTH", "1"),
        ]);
        for kept in ["create_file", "read_file"] {
            assert!(has(&left, kept), "{kept}");
        }
        for gone in [
            "run_command",
            "blender_execute_code",
            "launch_research_agent",
            "git_commit",
            "exit_app",
        ] {
            assert!(!has(&left, gone), "{gone}");
        }
        // Notes are files too, and they are not on the list.
        let all = offered(&[]);
        let left = offered(&[("MARVIN_WRITABLE_FILES", "a.md")]);
        for name in [
            "write_note",
            "notes_mkdir",
            "file_apply_patch",
            "download_file",
            "github_clone",
            "calendar_add_event",
        ] {
            assert!(has(&all, name) && !has(&left, name), "{name}");
        }
    }

    #[test]
    fn a_sub_agent_has_one_tool_for_tickets_and_further_groups_beside_its_own_tools() {
        let child = [("MARVIN_DEPTH", "1")];
        let of_tickets = |tools: &[String]| -> Vec<String> {
            let is_ticket = |tool: &&String| {
                let tool = all().find(|known| known.name == **tool);
                tool.is_some_and(|tool| tool.module == "tickets")
            };
            tools.iter().filter(is_ticket).cloned().collect()
        };
        let own = offered(&child);
        assert_eq!(of_tickets(&own), ["tk"]);
        assert!(!has(&own, "web_search"));
        let more = offered(&[child[0], ("MARVIN_TOOLS", "sub-agent,web,wiki")]);
        for name in own
            .iter()
            .map(String::as_str)
            .chain(["web_search", "wiki_search"])
        {
            assert!(has(&more, name), "{name}");
        }
        assert_eq!(of_tickets(&more), ["tk"]);
        assert!(!has(&more, "stack_search"));
    }

    #[test]
    fn groups_limit_and_wrong_ones_are_mended() {
        assert!(
            offered(&[("MARVIN_TOOLS", "git")])
                .iter()
                .all(|name| name.starts_with("git_"))
        );
        assert!(offered(&[("MARVIN_TOOLS", "none")]).is_empty());
        assert_eq!(parse_groups("git").unwrap(), Some(vec!["git"]));
        assert_eq!(parse_groups("git, default").unwrap(), None);
        // Names of other programs' tools, as their callers write them.
        let meant = parse_groups("Read,Bash").unwrap();
        assert_eq!(meant, Some(vec!["read_file", "run_command"]));
        assert_eq!(
            offered(&[("MARVIN_TOOLS", "read_file,run_command")]),
            ["read_file", "run_command"]
        );
        assert_has(
            &parse_groups("flies").unwrap_err().one_line(),
            &["Did you mean \"files\"?"],
        );
    }
}
