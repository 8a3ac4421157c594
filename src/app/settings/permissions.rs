//! What flags and environment say about permissions. A top-level Marvin is told by its user, and a sub-agent by its parent, whose restrictions it can only add
//! to.

use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::{
    MARVIN_ALLOWED_TOOLS, MARVIN_DEPTH, MARVIN_DISALLOWED_TOOLS, MARVIN_PERMISSION_MODE, Text,
};
use crate::tools::engine::permission::call_facts::KnownTool;
use crate::tools::engine::permission::mode::PermissionMode;
use crate::tools::engine::permission::permissions::PermissionRules;
use crate::tools::engine::permission::rule::Rule;

/// The flags as typed.
#[derive(Debug, Clone, Default)]
pub(crate) struct PermissionFlags {
    /// `--allowed-tools`, as often as it was given.
    pub allow: Vec<String>,
    /// `--disallowed-tools`, as often as it was given.
    pub deny: Vec<String>,
    /// `--permission-mode`, `--dangerously-skip-permissions`.
    pub mode: Option<PermissionMode>,
}

/// What they mean together with the environment. Rules are still text: which names there are only the session knows.
#[derive(Debug, Clone, Default)]
pub(crate) struct PermissionSettings {
    flags: PermissionFlags,
    /// `MARVIN_PERMISSION_MODE`, `MARVIN_ALLOWED_TOOLS`, `MARVIN_DISALLOWED_TOOLS`.
    mode: Option<String>,
    allow: Option<String>,
    deny: Option<String>,
    /// The environment is that of a sub-agent: its parent has set it.
    is_inherited: bool,
}

impl PermissionSettings {
    pub(super) fn new(flags: PermissionFlags, env: &Env) -> Self {
        let set = |variable: Text| variable.read(env).map(str::to_owned);
        Self {
            flags,
            mode: set(MARVIN_PERMISSION_MODE),
            allow: set(MARVIN_ALLOWED_TOOLS),
            deny: set(MARVIN_DISALLOWED_TOOLS),
            is_inherited: MARVIN_DEPTH.read(env, &mut |_| {}) > 0,
        }
    }

    /// Whether nobody is asked about calls because the user wants that.
    pub(crate) fn is_bypassing(&self) -> bool {
        let of_variable = || PermissionMode::parse(self.mode.as_deref()?).ok();
        self.flags.mode.or_else(of_variable) == Some(PermissionMode::Bypass)
    }

    /// The rules and the mode, for a session with these tools.
    ///
    /// # Errors
    /// A rule or a mode is none, or a sub-agent is to have more than its parent.
    pub(crate) fn rules(&self, known: &[KnownTool]) -> Outcome<PermissionRules> {
        let parse = |lists: &[String]| -> Outcome<Vec<Rule>> {
            let rules = lists.iter().map(|list| Rule::parse_list(list, known));
            Ok(rules.collect::<Outcome<Vec<_>>>()?.concat())
        };
        let set = |list: &Option<String>, variable: Text| -> Outcome<Vec<Rule>> {
            let rules = list.as_ref().map(|list| Rule::parse_list(list, known));
            rules
                .unwrap_or_else(|| Ok(Vec::new()))
                .map_err(|problem| of_variable(problem, variable))
        };
        let mode = self.mode.as_deref().map(PermissionMode::parse).transpose();
        let mode = mode.map_err(|problem| of_variable(problem, MARVIN_PERMISSION_MODE))?;
        let inherited = mode.filter(|_| self.is_inherited);
        let deny = [
            set(&self.deny, MARVIN_DISALLOWED_TOOLS)?,
            parse(&self.flags.deny)?,
        ]
        .concat();
        let own = parse(&self.flags.allow)?;
        let allow = match inherited {
            Some(mode) if !own.is_empty() => return Err(weaker("--allowed-tools", mode)),
            None if !self.flags.allow.is_empty() => own,
            _ => set(&self.allow, MARVIN_ALLOWED_TOOLS)?,
        };
        let mode = match (self.flags.mode, inherited) {
            (Some(own), Some(mode)) if own < mode => return Err(weaker("--permission-mode", mode)),
            (own, _) => own.or(mode),
        };
        Ok(PermissionRules {
            mode,
            inherited,
            allow,
            deny,
            ..PermissionRules::default()
        })
    }
}

fn of_variable(problem: Problem, variable: Text) -> Problem {
    problem.next(format!("It is in {}.", variable.name))
}

fn weaker(flag: &str, mode: PermissionMode) -> Problem {
    Problem::refused(format!(
        "{flag} would allow this sub-agent more than the Marvin that started it, which runs in permission mode {}.",
        mode.word()
    ))
    .next("Leave it out; --disallowed-tools and a stricter mode can be given.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use crate::tools::engine::permission::gate::known_tools;
    use crate::tools::engine::policy::ToolPolicy;
    use crate::tools::engine::registry::Registry;

    fn rules(flags: PermissionFlags, vars: &[(&str, &str)]) -> Outcome<PermissionRules> {
        let env = Env::new(
            vars.iter()
                .map(|(name, value)| ((*name).into(), (*value).into())),
        );
        let tools = Registry::default().allowed(&ToolPolicy::default());
        PermissionSettings::new(flags, &env).rules(&known_tools(&tools))
    }

    fn flags(allow: &[&str], deny: &[&str], mode: Option<PermissionMode>) -> PermissionFlags {
        let owned = |lists: &[&str]| lists.iter().map(|list| (*list).to_owned()).collect();
        PermissionFlags {
            allow: owned(allow),
            deny: owned(deny),
            mode,
        }
    }

    fn texts(rules: &[Rule]) -> Vec<&str> {
        rules.iter().map(Rule::text).collect()
    }

    #[test]
    fn a_flag_beats_the_environment_and_denials_add_up() {
        let vars = [
            ("MARVIN_PERMISSION_MODE", "dontAsk"),
            ("MARVIN_ALLOWED_TOOLS", "git_*"),
            ("MARVIN_DISALLOWED_TOOLS", "run_command(rm:*)"),
        ];
        let set = rules(PermissionFlags::default(), &vars).unwrap();
        assert_eq!(set.mode, Some(PermissionMode::DontAsk));
        assert_eq!(set.inherited, None);
        assert_eq!(texts(&set.allow), ["git_*"]);
        assert_eq!(texts(&set.deny), ["run_command(rm:*)"]);
        let given = flags(
            &["read_file", "tree create_file"],
            &["Bash"],
            Some(PermissionMode::Bypass),
        );
        let set = rules(given, &vars).unwrap();
        assert_eq!(set.mode, Some(PermissionMode::Bypass));
        assert_eq!(texts(&set.allow), ["read_file", "tree", "create_file"]);
        assert_eq!(texts(&set.deny), ["run_command(rm:*)", "Bash"]);
        let unset = rules(PermissionFlags::default(), &[]).unwrap();
        assert!(unset.mode.is_none() && unset.allow.is_empty() && unset.deny.is_empty());
    }

    #[test]
    fn a_sub_agent_is_never_weaker_than_its_parent() {
        let vars = [
            ("MARVIN_DEPTH", "1"),
            ("MARVIN_PERMISSION_MODE", "default"),
            ("MARVIN_ALLOWED_TOOLS", "git_*"),
            ("MARVIN_DISALLOWED_TOOLS", "web_search"),
        ];
        let set = rules(flags(&[], &["tree"], Some(PermissionMode::Plan)), &vars).unwrap();
        assert_eq!(set.mode, Some(PermissionMode::Plan));
        assert_eq!(set.inherited, Some(PermissionMode::Default));
        assert_eq!(texts(&set.allow), ["git_*"]);
        assert_eq!(texts(&set.deny), ["web_search", "tree"]);
        let bypass = flags(&[], &[], Some(PermissionMode::Bypass));
        for wrong in [bypass, flags(&["run_command"], &[], None)] {
            let words = rules(wrong, &vars).unwrap_err().one_line();
            assert_has(&words, &["more than the Marvin that started it"]);
        }
    }

    #[test]
    fn what_is_wrong_in_a_variable_names_it() {
        for (name, value) in [
            ("MARVIN_PERMISSION_MODE", "yolo"),
            ("MARVIN_ALLOWED_TOOLS", "raed_file"),
            ("MARVIN_DISALLOWED_TOOLS", "run_command(rm"),
        ] {
            let words = rules(PermissionFlags::default(), &[(name, value)])
                .unwrap_err()
                .one_line();
            assert!(words.contains(name), "{words}");
        }
    }
}
