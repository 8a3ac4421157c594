//! The permissions of a session: mode, rules, and who is asked. Shared, and changeable while it runs.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::call_approver::CallApprover;
use super::call_facts::CallFacts;
use super::mode::{CallKind, PermissionMode, Verdict};
use super::rule::Rule;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::{
    MARVIN_ALLOWED_TOOLS, MARVIN_DISALLOWED_TOOLS, MARVIN_PERMISSION_MODE,
};
use crate::tools::engine::approval::Approval;

/// What was chosen, at the start or since.
#[derive(Debug, Clone, Default)]
pub(crate) struct PermissionRules {
    /// None: everything runs, and tools ask their own questions as the session lets them.
    pub mode: Option<PermissionMode>,
    /// The mode of the Marvin above this one, which this one is never weaker than.
    pub inherited: Option<PermissionMode>,
    pub allow: Vec<Rule>,
    pub deny: Vec<Rule>,
    /// What is allowed while this turn lasts.
    pub allow_in_turn: Vec<Rule>,
    /// Those of the rules that allow which a person gave when such a call was shown.
    pub read: Vec<Rule>,
}

#[derive(Default)]
pub(crate) struct Permissions {
    rules: RwLock<PermissionRules>,
    approver: RwLock<Option<Arc<dyn CallApprover>>>,
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Permissions").field(&*self.rules()).finish()
    }
}

/// What is done with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It runs. When it was `chosen`, by a rule or a mode, its tool need not ask either.
    Run {
        chosen: bool,
    },
    /// Somebody has to be asked.
    Ask {
        mode: PermissionMode,
    },
    Refuse(Denial),
}

/// Why a call is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Denial {
    /// This rule denies it.
    Rule(String),
    Mode(PermissionMode),
}

impl Permissions {
    pub(crate) fn new(rules: PermissionRules) -> Self {
        Self {
            rules: RwLock::new(rules),
            approver: RwLock::default(),
        }
    }

    fn rules(&self) -> RwLockReadGuard<'_, PermissionRules> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn rules_mut(&self) -> RwLockWriteGuard<'_, PermissionRules> {
        self.rules.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn mode(&self) -> PermissionMode {
        self.rules().mode.unwrap_or(PermissionMode::Bypass)
    }

    /// The mode that says what becomes of calls: where none was chosen, tools ask by themselves before they run programs or act outside, if they have to.
    pub(crate) fn mode_in_effect(&self, approval: &Approval) -> PermissionMode {
        let unchosen = match approval {
            Approval::Ask(_) | Approval::Deny => PermissionMode::AcceptEdits,
            Approval::Approve | Approval::UserInvoked => PermissionMode::Bypass,
        };
        self.rules().mode.unwrap_or(unchosen)
    }

    /// Changes the mode from the next call on.
    ///
    /// # Errors
    /// It is weaker than that of the Marvin above this one.
    pub(crate) fn set_mode(&self, mode: PermissionMode) -> Outcome<()> {
        let mut rules = self.rules_mut();
        if let Some(inherited) = rules.inherited.filter(|inherited| mode < *inherited) {
            return Err(Problem::refused(format!(
                "The permission mode cannot become {}: the Marvin that started this one runs in mode {}.",
                mode.word(),
                inherited.word()
            )));
        }
        rules.mode = Some(mode);
        Ok(())
    }

    /// Chooses the mode, unless one was chosen.
    pub(crate) fn choose_mode(&self, mode: PermissionMode) {
        self.rules_mut().mode.get_or_insert(mode);
    }

    /// Adds rules that allow, given by whoever was asked. A sub-agent has those of its parent and gets no others.
    ///
    /// # Errors
    /// The process inherits its mode.
    pub(crate) fn allow(&self, allow: Vec<Rule>) -> Outcome<()> {
        let mut rules = self.rules_mut();
        if rules.inherited.is_some() && !allow.is_empty() {
            return Err(Problem::refused(
                "A sub-agent cannot be allowed more than the Marvin that started it.",
            ));
        }
        rules.read.extend(allow.iter().cloned());
        rules.allow.extend(allow);
        Ok(())
    }

    /// Adds rules that allow until the turn ends: those of a skill that the user trusts. A sub-agent gets none.
    pub(crate) fn allow_in_turn(&self, allow: Vec<Rule>) {
        let mut rules = self.rules_mut();
        if rules.inherited.is_none() {
            rules.allow_in_turn.extend(allow);
        }
    }

    pub(crate) fn end_turn(&self) {
        if !self.rules().allow_in_turn.is_empty() {
            self.rules_mut().allow_in_turn.clear();
        }
    }

    pub(crate) fn deny(&self, deny: Vec<Rule>) {
        self.rules_mut().deny.extend(deny);
    }

    /// Sets who is asked about calls; none refuses them instead.
    pub(crate) fn set_approver(&self, approver: Option<Arc<dyn CallApprover>>) {
        let mut place = self
            .approver
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *place = approver;
    }

    pub(crate) fn approver(&self) -> Option<Arc<dyn CallApprover>> {
        let approver = self.approver.read().unwrap_or_else(PoisonError::into_inner);
        approver.clone()
    }

    /// Whether there is nothing to judge by, so that a call need not be looked at.
    pub(super) fn is_unset(&self) -> bool {
        let rules = self.rules();
        rules.mode.is_none()
            && rules.allow.is_empty()
            && rules.deny.is_empty()
            && rules.allow_in_turn.is_empty()
    }

    /// What is done with a call: rules that deny, rules that allow, the mode.
    pub(crate) fn decide(&self, call: &CallFacts<'_>) -> Decision {
        if let Some(denial) = self.denial(call) {
            return Decision::Refuse(denial);
        }
        let rules = self.rules();
        let mut allow = rules.allow.iter().chain(&rules.allow_in_turn);
        if allow.any(|rule| rule.allows(call)) {
            return Decision::Run { chosen: true };
        }
        let Some(mode) = rules.mode else {
            return Decision::Run { chosen: false };
        };
        match mode.verdict(CallKind::of(call.effect)) {
            Verdict::Run => Decision::Run {
                chosen: mode == PermissionMode::Bypass,
            },
            Verdict::Ask => Decision::Ask { mode },
            Verdict::Refuse => Decision::Refuse(Denial::Mode(mode)),
        }
    }

    /// Whether calls of the tool may run that nobody reads: by the mode, or by a rule that was given without such a call in sight.
    pub(crate) fn let_run_unread(&self, tool: &str) -> bool {
        let rules = self.rules();
        let is_read = |rule: &Rule| rules.read.iter().any(|read| read.text() == rule.text());
        let mut unread = rules.allow.iter().filter(|rule| !is_read(rule));
        rules.mode == Some(PermissionMode::Bypass) || unread.any(|rule| rule.is_about(tool))
    }

    /// Whether a person was shown such a call and has allowed those to come.
    pub(super) fn is_read(&self, call: &CallFacts<'_>) -> bool {
        self.rules().read.iter().any(|rule| rule.allows(call))
    }

    /// The rule that denies a call, if one does.
    pub(super) fn denial(&self, call: &CallFacts<'_>) -> Option<Denial> {
        let rules = self.rules();
        let rule = rules.deny.iter().find(|rule| rule.denies(call))?;
        Some(Denial::Rule(rule.text().to_owned()))
    }

    /// What no hook opens: a rule that denies, or a mode that refuses what no rule allows.
    pub(super) fn refusal(&self, call: &CallFacts<'_>) -> Option<Denial> {
        match self.decide(call) {
            Decision::Refuse(denial) => Some(denial),
            Decision::Run { .. } | Decision::Ask { .. } => None,
        }
    }

    /// The variables by which a Marvin that this process starts is bounded at least as this one is.
    pub(crate) fn child_variables(&self) -> Vec<(String, String)> {
        let rules = self.rules();
        let list = |rules: &[Rule]| {
            let texts: Vec<&str> = rules.iter().map(Rule::text).collect();
            (!texts.is_empty()).then(|| texts.join(","))
        };
        let mode = rules.mode.map(|mode| mode.word().to_owned());
        [
            (MARVIN_PERMISSION_MODE, mode),
            (MARVIN_ALLOWED_TOOLS, list(&rules.allow)),
            (MARVIN_DISALLOWED_TOOLS, list(&rules.deny)),
        ]
        .into_iter()
        .filter_map(|(variable, value)| Some((variable.name.to_owned(), value?)))
        .collect()
    }
}
