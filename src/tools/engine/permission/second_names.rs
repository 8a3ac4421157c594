//! Names by which people and programs know such tools from elsewhere, and Marvin's tools that they mean in a rule.

/// The names of the tools of Claude Code and its SDKs (docs.claude.com, "Tools available to Claude").
const SECOND_NAMES: [(&str, &[&str]); 12] = [
    ("Bash", &["run_command"]),
    ("Read", &["read_file"]),
    ("Write", &["create_file"]),
    ("Edit", &EDIT),
    ("MultiEdit", &EDIT),
    ("Glob", &["tree"]),
    ("Grep", &["code_grep"]),
    ("WebFetch", &["browse_web"]),
    ("WebSearch", &["web_search"]),
    ("Task", &["launch_agent"]),
    ("Agent", &["launch_agent"]),
    ("Skill", &[SKILL_TOOL]),
];

const EDIT: [&str; 3] = ["apply_patch", "file_apply_patch", "append_file"];

/// The tool that loads a skill. It is registered only where there are skills, so a rule about it is right without it.
pub(crate) const SKILL_TOOL: &str = "use_skill";

/// The tools that a name from elsewhere means.
pub(crate) fn meant(name: &str) -> Option<&'static [&'static str]> {
    let row = SECOND_NAMES.iter().find(|(second, _)| *second == name);
    row.map(|(_, tools)| *tools)
}

pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    SECOND_NAMES.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::find_tool;

    #[test]
    fn every_second_name_means_tools_that_there_are() {
        for (name, tools) in SECOND_NAMES {
            assert!(find_tool(name).is_none(), "{name}");
            for tool in tools {
                assert!(*tool == SKILL_TOOL || find_tool(tool).is_some(), "{tool}");
            }
        }
    }
}
