//! `Problem`: what failed, why, and what to do next, for the user and for the model.

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use super::text::{capitalize, did_you_mean, uncapitalize};

/// The kind of a [`Problem`]; independent of its wording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The caller gave something unusable.
    Input,
    /// A setting, file or environment variable is wrong.
    Config,
    /// A key is missing or was refused.
    Auth,
    /// A file, tool, program or record does not exist.
    Missing,
    /// A fence, gate or restriction forbids it.
    Refused,
    /// The user was asked and declined.
    Declined,
    /// A size or count limit was reached.
    Limit,
    /// A time limit was reached: of a call, or of a program that it ran.
    Timeout,
    /// A socket, a name look-up or a server failed.
    Network,
    /// The user, a signal or a parent ended it.
    Cancelled,
    /// The operating system refused to read, write or run something.
    System,
    /// Marvin itself is at fault.
    Internal,
}

/// A failure with the next step attached.
///
/// `what` is a sentence about what happened, not about code. `next` says what the reader can do. `facts` is a block that helps a model find its way (a
/// directory listing, the actual text of a file). `cause` is the underlying error, kept for logs.
#[derive(Debug, Serialize)]
pub struct Problem {
    /// The kind of failure.
    pub kind: ProblemKind,
    /// What happened, one sentence.
    pub what: String,
    /// What to do next, one sentence each.
    pub next: Vec<String>,
    /// Context worth showing below, possibly several lines.
    pub facts: Option<String>,
    /// The underlying error.
    #[serde(serialize_with = "in_words")]
    pub cause: Option<Box<dyn Error + Send + Sync>>,
}

fn in_words<S: Serializer>(
    reason: &Option<Box<dyn Error + Send + Sync>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    reason.as_ref().map(ToString::to_string).serialize(to)
}

impl Problem {
    /// A problem of `kind` with the sentence `what`.
    pub fn new(kind: ProblemKind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            next: Vec::new(),
            facts: None,
            cause: None,
        }
    }

    /// The caller gave something unusable.
    pub fn input(what: impl Into<String>) -> Self {
        Self::new(ProblemKind::Input, what)
    }

    /// A setting is wrong.
    pub fn config(what: impl Into<String>) -> Self {
        Self::new(ProblemKind::Config, what)
    }

    /// The requested thing does not exist.
    pub fn missing(what: impl Into<String>) -> Self {
        Self::new(ProblemKind::Missing, what)
    }

    /// A fence or gate forbids it.
    pub fn refused(what: impl Into<String>) -> Self {
        Self::new(ProblemKind::Refused, what)
    }

    /// A limit was reached.
    pub fn limit(what: impl Into<String>) -> Self {
        Self::new(ProblemKind::Limit, what)
    }

    /// The time limit was reached.
    pub fn timeout(what: impl Into<String>) -> Self {
        Self::new(ProblemKind::Timeout, what)
    }

    /// A socket or server failed.
    pub fn network(what: impl Into<String>) -> Self {
        Self::new(ProblemKind::Network, what)
    }

    /// Marvin is at fault.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::new(ProblemKind::Internal, what)
    }

    /// The work was stopped by the user, a signal or a parent.
    pub fn cancelled() -> Self {
        Self::new(ProblemKind::Cancelled, "Cancelled.")
    }

    /// The operating system failed: `what` names the operation and the object ("Cannot write notes.md"), the reason is appended.
    pub fn system(what: impl fmt::Display, reason: std::io::Error) -> Self {
        Self::new(
            ProblemKind::System,
            format!("{what}: {}.", io_words(&reason)),
        )
        .because(reason)
    }

    /// Adds the names that are similar to `word`, if there are any.
    #[must_use]
    pub(crate) fn near<'a>(self, word: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        match did_you_mean(word, names) {
            Some(hint) => self.next(capitalize(&hint)),
            None => self,
        }
    }

    /// Adds the names that are similar to `word`, or `other` if none is.
    #[must_use]
    pub(crate) fn near_or<'a>(
        self,
        word: &str,
        names: impl IntoIterator<Item = &'a str>,
        other: impl Into<String>,
    ) -> Self {
        match did_you_mean(word, names) {
            Some(hint) => self.next(capitalize(&hint)),
            None => self.next(other),
        }
    }

    /// Adds a next step.
    #[must_use]
    pub fn next(mut self, hint: impl Into<String>) -> Self {
        self.next.push(hint.into());
        self
    }

    /// Adds the block of facts shown below.
    #[must_use]
    pub fn facts(mut self, facts: impl Into<String>) -> Self {
        self.facts = Some(facts.into());
        self
    }

    /// Attaches the underlying error.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// True when the work was stopped on purpose.
    pub fn is_cancelled(&self) -> bool {
        self.kind == ProblemKind::Cancelled
    }

    /// One line for a message or a log: what, then every next step.
    pub fn one_line(&self) -> String {
        let mut line = self.what.clone();
        for hint in &self.next {
            line.push(' ');
            line.push_str(hint);
        }
        line.replace(['\n', '\r'], " ")
    }

    /// The text of a failed tool result: what, next steps, then the facts below. What somebody said who declined is no error.
    pub fn for_model(&self) -> String {
        let mut text = match self.kind {
            ProblemKind::Declined => self.what.clone(),
            _ => format!("Error: {}", self.what),
        };
        for hint in &self.next {
            text.push('\n');
            text.push_str(hint);
        }
        if let Some(facts) = &self.facts {
            text.push_str("\n\n");
            text.push_str(facts);
        }
        text
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.one_line())
    }
}

impl Error for Problem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause
            .as_deref()
            .map(|cause| cause as &(dyn Error + 'static))
    }
}

/// The operating system's message without Rust's "(os error 2)", beginning in lower case.
pub(crate) fn io_words(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    uncapitalize(text)
}

/// `text` without the white space around it.
///
/// # Errors
/// Nothing is left of `what`; `next` says what belongs there.
pub(crate) fn not_empty<'a>(what: &str, text: &'a str, next: &str) -> Outcome<&'a str> {
    match text.trim() {
        "" => Err(Problem::input(format!("The {what} is empty.")).next(next)),
        text => Ok(text),
    }
}

/// A `Result` whose error is a [`Problem`].
pub(crate) type Outcome<T> = Result<T, Problem>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_names_what_and_the_next_step() {
        let problem = Problem::missing("No file src/mian.rs.")
            .next("Did you mean src/main.rs?")
            .facts("src\n  main.rs");
        assert_eq!(
            problem.one_line(),
            "No file src/mian.rs. Did you mean src/main.rs?"
        );
        assert_eq!(
            problem.for_model(),
            "Error: No file src/mian.rs.\nDid you mean src/main.rs?\n\nsrc\n  main.rs"
        );
    }

    #[test]
    fn operating_system_reasons_read_as_part_of_a_sentence() {
        let reason = std::io::Error::from_raw_os_error(2);
        assert_eq!(
            Problem::system("Cannot read x", reason).what,
            "Cannot read x: no such file or directory."
        );
    }
}
