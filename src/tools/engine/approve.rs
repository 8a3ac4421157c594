//! How a call asks the user to approve what it is about to do.

use super::approval::{Approval, ApprovalRequest};
use super::context::ToolContext;
use super::hooks::turns::question_is_asked;
use crate::base::problem::Outcome;
use crate::chat::event::CallState;

impl ToolContext {
    /// Asks the user to approve `request` if they have to be asked. The call's timeout is paused meanwhile.
    ///
    /// # Errors
    /// The user does not want it or cannot be asked, or the call was stopped.
    pub fn approve(&self, request: ApprovalRequest) -> Outcome<()> {
        match &self.approval {
            _ if self.is_agreed => Ok(()),
            Approval::UserInvoked | Approval::Approve => Ok(()),
            Approval::Deny => Err(request.refused_unasked()),
            Approval::Ask(approver) => {
                question_is_asked(self, &request.text());
                self.say_state(CallState::Waiting);
                let answer = self.pauses.during(|| approver.ask(request, &self.stop));
                self.say_state(CallState::Running);
                answer
            }
        }
    }
}
