//! Who is asked about a whole call: a program that runs Marvin, or an editor.

use serde_json::{Map, Value};

use super::mode::PermissionMode;
use super::rule::Rule;
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;
use crate::tools::engine::approval::ApprovalRequest;

/// A question about a call that neither a rule nor the mode lets run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallQuestion {
    pub tool: String,
    pub call: String,
    pub input: Map<String, Value>,
    /// What would happen, in a few words.
    pub title: String,
    /// What the tool does.
    pub description: String,
    /// Why it is asked about.
    pub reason: String,
    /// A hook wants that.
    pub is_by_hook: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct CallApproval {
    /// Arguments to run it with, instead of its own.
    pub updated_input: Option<Map<String, Value>>,
    /// Rules that hold from now on.
    pub allow: Vec<Rule>,
    pub deny: Vec<Rule>,
    pub mode: Option<PermissionMode>,
}

#[derive(Debug, Clone)]
pub(crate) enum CallAnswer {
    Allow(CallApproval),
    Deny {
        /// The call's result for the model.
        message: String,
        /// Ends the turn too.
        interrupt: bool,
    },
}

/// Asks about calls.
pub(crate) trait CallApprover: Send + Sync {
    /// Waits for the answer, or until `stop` fires.
    ///
    /// # Errors
    /// There is no answer, which is a refusal; or `stop` fired.
    fn ask(&self, question: &CallQuestion, stop: &Cancel) -> Outcome<CallAnswer>;

    /// Whether it is asked about commands that the sandbox holds, where a mode asks about programs.
    fn wants_fenced_commands(&self) -> bool {
        true
    }

    /// Waits for the answer to whether the command of a call may run outside the sandbox, which its call as a whole does not say; `None` where that is not
    /// asked.
    ///
    /// # Errors
    /// As [`Self::ask`].
    fn ask_outside(
        &self,
        _call: &str,
        _request: &ApprovalRequest,
        _stop: &Cancel,
    ) -> Option<Outcome<CallAnswer>> {
        None
    }
}
