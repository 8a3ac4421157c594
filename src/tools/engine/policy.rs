//! The tools this process may use, depending on mode, restrictions, depth and the groups the user selected.

use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text;
use crate::base::variables::{MARVIN_DEPTH, MARVIN_READONLY, MARVIN_TOOLS, MARVIN_WRITABLE_FILES};
use crate::tools::Tool;
use crate::tools::engine::rules::{Rules, SideEffect};

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
}

impl ToolPolicy {
    /// Reads the restrictions; `tools` is the value of `--tools`. An unknown group is an error that suggests the nearest one.
    pub fn new(env: &Env, tools: Option<&str>, warn: &mut dyn FnMut(String)) -> Outcome<Self> {
        let writable = MARVIN_WRITABLE_FILES.read(env).map(|list| {
            list.split(',')
                .map(|path| path.trim().trim_start_matches("./").to_owned())
                .filter(|path| !path.is_empty())
                .collect()
        });
        Ok(Self {
            readonly: MARVIN_READONLY.read(env),
            writable,
            depth: MARVIN_DEPTH.read(env, warn),
            groups: tools.map(groups).transpose()?.flatten(),
        })
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

    /// Whether `tool` is offered in this process.
    pub fn offers(&self, tool: &Tool) -> bool {
        self.refusal(tool.name, tool.module, &tool.rules).is_none()
    }

    /// Why the tool `name` of `module` is not available here, if it is not.
    pub(super) fn refusal(&self, name: &str, module: &str, rules: &Rules) -> Option<Problem> {
        let refused = |reason: &str, next: &str| {
            Some(Problem::refused(format!("{name} is not available here: {reason}.")).next(next))
        };
        if self.readonly && !rules.effect.is_read_only() {
            return refused(
                "this process is read-only (MARVIN_READONLY)",
                "Report what you would change instead.",
            );
        }
        if let Some(files) = &self.writable
            && !rules.effect.keeps_to_named_files()
        {
            return refused(
                "this process may only write the files named in MARVIN_WRITABLE_FILES",
                &format!(
                    "Use {} on: {}.",
                    writers_of_named_files().join(" or "),
                    files.join(", ")
                ),
            );
        }
        match &self.groups {
            Some(groups) if !groups.contains(&module) => refused(
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

/// The tools that write project files, each checked against the list.
fn writers_of_named_files() -> Vec<&'static str> {
    let writers = crate::tools::all().filter(|tool| tool.rules.effect == SideEffect::ProjectFiles);
    writers.map(|tool| tool.name).collect()
}

/// Parses `--tools GROUP,…`: `all` means no restriction, `none` no tools.
fn groups(list: &str) -> Outcome<Option<Vec<&'static str>>> {
    let known = crate::tools::groups();
    let mut chosen = Vec::new();
    for word in list
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
    {
        match word {
            "all" => return Ok(None),
            "none" => {}
            _ => match known.iter().find(|group| **group == word) {
                Some(group) => chosen.push(*group),
                None => {
                    let mut problem = Problem::input(format!("There is no tool group \"{word}\"."));
                    if let Some(hint) = text::did_you_mean(word, known.iter().copied()) {
                        problem = problem.next(text::capitalize(&hint));
                    }
                    return Err(problem.next(format!("Groups: {}, all, none.", known.join(", "))));
                }
            },
        }
    }
    Ok(Some(chosen))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::all;

    fn offered(vars: &[(&str, &str)]) -> Vec<&'static str> {
        let env = Env::new(vars.iter().map(|(k, v)| ((*k).into(), (*v).into())));
        let bounds = ToolPolicy::new(&env, env.get("MARVIN_TOOLS"), &mut |_| {}).unwrap();
        all()
            .filter(|tool| bounds.offers(tool))
            .map(|tool| tool.name)
            .collect()
    }

    #[test]
    fn a_read_only_process_keeps_what_changes_nothing_but_marvins_memory() {
        let left = offered(&[("MARVIN_READONLY", "1")]);
        let changing = all()
            .filter(|tool| left.contains(&tool.name) && !tool.rules.effect.is_none())
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
        for gone in [
            "create_file",
            "append_file",
            "apply_patch",
            "file_apply_patch",
            "git_commit",
            "git_checkout",
            "run_command",
            "install_packages",
            "launch_agent",
            "review_codebase",
            "blender_create_object",
            "blender_modify_object",
            "blender_delete_object",
            "blender_set_material",
            "blender_execute_code",
            "download_file",
            "github_clone",
            "ntfy_publish",
            "set_alarm",
            "calendar_add_event",
            "update_preferences",
        ] {
            assert!(!left.contains(&gone), "{gone}");
        }
    }

    #[test]
    fn restricted_children_keep_file_tools_but_no_shell() {
        let left = offered(&[
            ("MARVIN_WRITABLE_FILES", "a.md,b.md"),
            ("MARVIN_DEPTH", "1"),
        ]);
        assert!(left.contains(&"create_file") && left.contains(&"read_file"));
        assert!(
            !left.contains(&"run_command")
                && !left.contains(&"blender_execute_code")
                && !left.contains(&"launch_research_agent")
                && !left.contains(&"git_commit")
                && !left.contains(&"exit_app")
        );
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
            assert!(all.contains(&name) && !left.contains(&name), "{name}");
        }
    }

    #[test]
    fn groups_limit_and_wrong_ones_are_mended() {
        assert!(
            offered(&[("MARVIN_TOOLS", "git")])
                .iter()
                .all(|name| name.starts_with("git_"))
        );
        assert!(offered(&[("MARVIN_TOOLS", "none")]).is_empty());
        let with = |tools| ToolPolicy::new(&Env::default(), Some(tools), &mut |_| {});
        assert_eq!(with("git").unwrap().groups, Some(vec!["git"]));
        assert!(
            with("flies")
                .unwrap_err()
                .one_line()
                .contains("Did you mean \"files\"?")
        );
    }
}
