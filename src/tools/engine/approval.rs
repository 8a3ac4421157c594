//! Approval of actions that the user may not want.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{escape_controls, one_line};

/// Who approves the actions of a call.
#[derive(Clone)]
pub enum Approval {
    /// The user called the tool themselves and need not be asked.
    UserInvoked,
    /// Someone is asked each time.
    Ask(Arc<dyn Approver>),
    /// Everything is approved: non-interactive mode.
    Approve,
    /// Nobody can be asked, so everything is declined.
    Deny,
}

impl Approval {
    /// True when the user called the tool themselves.
    pub fn is_user_invoked(&self) -> bool {
        matches!(self, Self::UserInvoked)
    }

    /// True when the user is present and can answer, or finish in a browser what a tool started.
    pub fn is_attended(&self) -> bool {
        matches!(self, Self::UserInvoked | Self::Ask(_))
    }
}

impl fmt::Debug for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UserInvoked => "UserInvoked",
            Self::Ask(_) => "Ask",
            Self::Approve => "Approve",
            Self::Deny => "Deny",
        })
    }
}

pub trait Approver: Send + Sync {
    /// Returns `Ok` when the user agrees; otherwise the problem says what they answered. Waits until they answer or `stop` fires.
    ///
    /// # Errors
    /// The user declined, or `stop` fired.
    fn ask(&self, request: ApprovalRequest, stop: &Cancel) -> Outcome<()>;
}

/// An action that needs approval. Equal requests are about exactly the same action.
#[derive(Debug, Clone)]
pub struct ApprovalRequest {
    question: &'static str,
    act: &'static str,
    /// The raw subject: two commands that look alike when displayed may differ.
    subject: OsString,
    dir: Option<PathBuf>,
    /// What is shown below the subject.
    detail: String,
    /// What the subject is, where its name alone does not say it: that of another one is another request.
    version: Vec<u8>,
    /// The answer may be a text.
    takes_text: bool,
    /// What an answer for good is about, as the words after "always"; none where there is no such answer.
    for_good: Option<&'static str>,
    /// One who declines can say why.
    takes_reason: bool,
    /// Why the model wants it: no part of what is agreed to.
    reason: String,
}

impl ApprovalRequest {
    /// What tells one action from another.
    fn action(&self) -> impl Eq + Hash + '_ {
        let of_subject = (&self.subject, &self.detail, &self.version);
        (
            (self.question, self.act, self.takes_text),
            of_subject,
            &self.dir,
        )
    }
}

impl PartialEq for ApprovalRequest {
    fn eq(&self, other: &Self) -> bool {
        self.action() == other.action()
    }
}

impl Eq for ApprovalRequest {}

impl Hash for ApprovalRequest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.action().hash(state);
    }
}

impl Serialize for ApprovalRequest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut form = to.serialize_struct("ApprovalRequest", 4)?;
        form.serialize_field("question", self.question)?;
        form.serialize_field("act", self.act)?;
        form.serialize_field("text", &self.text())?;
        let place = self.dir.as_ref().map(|dir| dir.to_string_lossy());
        form.serialize_field("place", &place)?;
        form.end()
    }
}

impl ApprovalRequest {
    /// Asks `question` ("Run this command?") about `subject`; `act` is the same as the end of a sentence ("run this command").
    pub fn new(question: &'static str, act: &'static str, subject: impl AsRef<OsStr>) -> Self {
        Self {
            question,
            act,
            subject: subject.as_ref().to_owned(),
            dir: None,
            detail: String::new(),
            version: Vec::new(),
            takes_text: false,
            for_good: Some("exactly this"),
            takes_reason: true,
            reason: String::new(),
        }
    }

    /// Adds the reason that the model gives.
    #[must_use]
    pub fn because(mut self, reason: &str) -> Self {
        // A line of its own could look like one of Marvin's.
        self.reason = one_line(reason);
        self
    }

    /// Adds the folder in which it would happen.
    #[must_use]
    pub fn in_dir(mut self, dir: &Path) -> Self {
        self.dir = Some(dir.to_owned());
        self
    }

    /// Adds lines that are shown below the subject, and what the subject is. An answer for good is about the subject as it is, whatever the lines say.
    #[must_use]
    pub fn with_detail(mut self, detail: String, version: &[u8]) -> Self {
        self.detail = detail;
        self.version = version.to_owned();
        self
    }

    /// An answer for good is about this, whatever is shown below the subject; what the subject is has to be in its version.
    #[must_use]
    pub fn for_good(mut self, what: &'static str) -> Self {
        self.for_good = Some(what);
        self
    }

    /// There is no answer for good: nothing asks exactly this again.
    #[must_use]
    pub fn only_once(mut self) -> Self {
        self.for_good = None;
        self
    }

    /// The same, and nobody hears why it is declined.
    #[must_use]
    pub fn yes_or_no(mut self) -> Self {
        self.takes_reason = false;
        self.only_once()
    }

    /// Whether one who declines is asked why.
    pub fn takes_reason(&self) -> bool {
        self.takes_reason
    }

    /// What an answer for good is about, as the words after "always", if there is one.
    pub fn means_for_good(&self) -> Option<&'static str> {
        self.for_good
    }

    /// The answer may be a text of the user's own.
    #[must_use]
    pub fn takes_text(mut self) -> Self {
        self.takes_text = true;
        self
    }

    /// Whether the answer may be a text.
    pub fn is_open(&self) -> bool {
        self.takes_text
    }

    /// The request as an answer for good means it.
    #[must_use]
    pub fn in_general(mut self) -> Self {
        if !self.version.is_empty() {
            self.detail.clear();
        }
        self
    }

    pub fn question(&self) -> &'static str {
        self.question
    }

    /// The action, as the end of a sentence.
    pub fn act(&self) -> &'static str {
        self.act
    }

    /// The subject and the reason, with control characters made visible.
    pub fn text(&self) -> String {
        let mut text = self.shown_subject();
        if let Some(reason) = self.reason() {
            text.push_str("\n\nThe model's reason: ");
            text.push_str(reason);
        }
        text
    }

    /// The subject, with control characters made visible.
    pub fn shown_subject(&self) -> String {
        let subject = self.subject.to_string_lossy();
        escape_controls(&format!("{subject}{}", self.detail))
    }

    /// The reason that the model gives, if it gives one, on one line and with control characters made visible.
    pub fn reason(&self) -> Option<&str> {
        Some(self.reason.as_str()).filter(|reason| !reason.is_empty())
    }

    /// The folder in which it would happen, if there is one.
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// The error when nobody can be asked.
    pub(super) fn refused_unasked(&self) -> Problem {
        Problem::refused(format!(
            "To {} needs the user's agreement, and standard input is not a terminal to ask on.",
            self.act
        ))
        .next("Run Marvin on a terminal, or with --non-interactive, which approves everything.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use crate::base::problem::ProblemKind;
    use crate::chat::event::{CallState, Event, EventSink};
    use crate::tools::engine::context::{SessionContext, ToolContext};
    use crate::tools::engine::policy::ToolPolicy;
    use std::sync::Mutex;

    /// Records the requests, and declines those about "no".
    #[derive(Default)]
    struct User(Mutex<Vec<ApprovalRequest>>);

    impl Approver for User {
        fn ask(&self, request: ApprovalRequest, _: &Cancel) -> Outcome<()> {
            let is_declined = request.text() == "no";
            self.0.lock().unwrap().push(request);
            match is_declined {
                true => Err(Problem::new(ProblemKind::Declined, "No.")),
                false => Ok(()),
            }
        }
    }

    #[derive(Default)]
    struct States(Mutex<Vec<CallState>>);

    impl EventSink for States {
        fn emit(&self, event: Event) {
            if let Event::CallState { state, .. } = event {
                self.0.lock().unwrap().push(state);
            }
        }
    }

    fn request(subject: &str) -> ApprovalRequest {
        ApprovalRequest::new("Run this command?", "run this command", subject)
    }

    /// The result of asking about `subject`, and the states that the call went through.
    fn outcome(approval: Approval, subject: &str) -> (Outcome<()>, Vec<CallState>) {
        let session = SessionContext::new(Env::default(), ToolPolicy::default());
        let states = Arc::new(States::default());
        let listener: Arc<dyn EventSink> = Arc::clone(&states) as Arc<dyn EventSink>;
        let ctx = ToolContext {
            approval,
            ..ToolContext::new(Arc::new(session), Cancel::new(), listener)
        };
        let answer = ctx.approve(request(subject));
        let states = states.0.lock().unwrap().clone();
        (answer, states)
    }

    #[test]
    fn a_call_of_the_user_is_approved_without_a_question() {
        let (answer, states) = outcome(Approval::UserInvoked, "no");
        assert!(answer.is_ok() && states.is_empty());
        assert!(Approval::UserInvoked.is_user_invoked() && Approval::UserInvoked.is_attended());
    }

    #[test]
    fn the_approver_decides_and_the_call_waits_meanwhile() {
        let user = Arc::new(User::default());
        let ask = || Approval::Ask(Arc::clone(&user) as Arc<dyn Approver>);
        let (answer, states) = outcome(ask(), "make");
        assert!(answer.is_ok());
        assert_eq!(states, [CallState::Waiting, CallState::Running]);
        let (answer, states) = outcome(ask(), "no");
        assert_eq!(answer.unwrap_err().kind, ProblemKind::Declined);
        assert_eq!(states, [CallState::Waiting, CallState::Running]);
        assert_eq!(*user.0.lock().unwrap(), [request("make"), request("no")]);
        assert!(ask().is_attended() && !ask().is_user_invoked());
    }

    #[test]
    fn non_interactive_mode_approves_without_a_question() {
        let (answer, states) = outcome(Approval::Approve, "no");
        assert!(answer.is_ok() && states.is_empty());
        assert!(!Approval::Approve.is_attended() && !Approval::Approve.is_user_invoked());
    }

    #[test]
    fn where_nobody_can_be_asked_the_answer_is_no() {
        let (answer, states) = outcome(Approval::Deny, "make");
        let problem = answer.unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Refused);
        assert!(problem.what.starts_with("To run this command needs"));
        assert!(states.is_empty());
        assert!(!Approval::Deny.is_attended() && !Approval::Deny.is_user_invoked());
    }

    #[test]
    fn requests_that_look_alike_are_not_equal() {
        let (raw, escaped) = (request("a\u{1b}b"), request(&escape_controls("a\u{1b}b")));
        assert_eq!(raw.text(), escaped.text());
        assert_ne!(raw, escaped);
        assert_ne!(request("make"), request("make").in_dir(Path::new("/")));
        let reasoned = request("make").because("It\n\nbuilds.");
        assert_eq!(reasoned, request("make"));
        assert!(reasoned.text().ends_with("reason: It builds."));
        assert_eq!(
            request("make").in_dir(Path::new("/")).dir(),
            Some(Path::new("/"))
        );
    }
}
