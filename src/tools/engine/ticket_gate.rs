//! The ticket gate: a sub-agent that works for a ticket writes nothing before it has thought its work through in a ticket of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::module_state::ModuleState;
use super::policy::ToolPolicy;
use super::rules::Rules;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::base::variables::MARVIN_TICKET;

/// Tickets created by this process. Kept in memory: a child that is started again begins anew.
#[derive(Debug, Default)]
pub(crate) struct TicketGate {
    refused: AtomicBool,
    open: AtomicBool,
    own: Mutex<Option<String>>,
}

impl TicketGate {
    /// Refuses the first `tk create` of the process and explains what makes a good ticket.
    ///
    /// # Errors
    /// It is the first.
    pub(crate) fn first(&self) -> Outcome<()> {
        if self.refused.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        Err(Problem::refused(
            "The first ticket of a run is sent back once, so that it is thought through. Nothing was created.",
        )
        .next("Check it, then create it again; it will be accepted:")
        .next("- one clear deliverable in the title")
        .next("- a detailed description (-d): what, why, how")
        .next("- acceptance criteria that can be checked (--acceptance)")
        .next("- the files it touches")
        .next("- the parent ticket (--parent ID)")
        .next("- the fitting type (-t bug, feature, task, epic or chore)"))
    }

    /// A ticket was created, so the gate is open.
    pub(crate) fn pass(&self) {
        self.open.store(true, Ordering::SeqCst);
    }

    /// The process has created the ticket `id` for its work.
    pub(crate) fn created(&self, id: &str) {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        *own = Some(id.to_owned());
    }

    /// The ticket that the process created last.
    pub(crate) fn own(&self) -> Option<String> {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.clone()
    }
}

/// Why the tool `name` has to wait for a ticket, if it has to. Which tools wait is a matter of what they declare: those that write.
///
/// A reviewer, who is read-only, and a process that may write only named files need no ticket.
pub(super) fn refusal(
    name: &str,
    rules: &Rules,
    policy: &ToolPolicy,
    env: &Env,
    modules: &ModuleState,
) -> Option<Problem> {
    if !rules.effect.is_write() || policy.readonly || policy.writable.is_some() {
        return None;
    }
    let parent = MARVIN_TICKET.read(env)?;
    if modules.get::<TicketGate>().open.load(Ordering::SeqCst) {
        return None;
    }
    let parent = clip(&escape_controls(parent), 80);
    Some(
        Problem::refused(format!(
            "{name} is not available yet: this process has not created a ticket for its work."
        ))
        .next(format!(
            "First create one below {parent} with tk: create \"TITLE\" -t task --parent {parent} -d \"what, why, how\" --acceptance \"what can be checked\""
        ))
        .next("Then start it (tk: start ID) and call again."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::engine::registry::Registry;

    fn held(vars: &[(&str, &str)], modules: &ModuleState) -> Vec<String> {
        let env = Env::new(vars.iter().map(|(k, v)| ((*k).into(), (*v).into())));
        let policy = ToolPolicy::new(&env, &mut |_| {});
        let tools = Registry::default().allowed(&policy).into_iter();
        let waiting = tools
            .filter(|tool| refusal(tool.name(), tool.rules(), &policy, &env, modules).is_some());
        waiting.map(|tool| tool.name().to_owned()).collect()
    }

    #[test]
    fn the_write_tools_of_a_child_wait_for_its_ticket() {
        let modules = ModuleState::default();
        let child = [("MARVIN_TICKET", "top-1"), ("MARVIN_DEPTH", "1")];
        assert_eq!(
            held(&child, &modules),
            [
                "create_file",
                "append_file",
                "apply_patch",
                "git_commit",
                "git_checkout",
                "run_command",
                "launch_agent",
                "install_packages",
            ]
        );
        // At the top level there are more tools, so one more writes: notes are files too.
        let top = held(&child[..1], &modules);
        assert!(top.iter().any(|name| name == "file_apply_patch"), "{top:?}");
        modules.get::<TicketGate>().pass();
        assert!(held(&child, &modules).is_empty());
    }

    #[test]
    fn only_a_process_with_a_ticket_and_without_restrictions_waits() {
        let modules = ModuleState::default();
        let ticket = ("MARVIN_TICKET", "top-1");
        for vars in [
            &[][..],
            &[("MARVIN_TICKET", "")],
            &[ticket, ("MARVIN_READONLY", "1")],
            &[ticket, ("MARVIN_WRITABLE_FILES", "a.md")],
        ] {
            assert!(held(vars, &modules).is_empty(), "{vars:?}");
        }
        assert!(!held(&[ticket], &modules).is_empty());
    }
}
