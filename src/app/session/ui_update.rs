//! What a session tells the face that a person looks at: the one vocabulary of the full screen and of the plain interface.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use serde::{Serialize, Serializer};

use crate::base::problem::Problem;
use crate::chat::event::Event;
use crate::store::chat_log::Entry;
use crate::tools::engine::approval::ApprovalRequest;

/// One thing to show, in order.
///
/// As JSON it is `{"type": …, "data": …}`, as an [`Event`] is.
#[derive(Debug, Serialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub(crate) enum Show {
    /// The end of an earlier conversation.
    Past(Vec<Entry>),
    /// From here on what is said belongs to this profile.
    Profile(String),
    /// What the person said, now on its way to the model.
    You {
        /// The words.
        text: String,
        /// `14:30`.
        time: String,
    },
    /// The running turn says something.
    Event(Event),
    /// The answer is over.
    AnswerEnd(End),
    /// Something failed.
    Failed(Problem),
    /// A word of the system, Markdown nowhere.
    System(String),
    /// Something that calls the person, with the terminal's bell.
    Call(String),
    /// Text to read as it stands: a list, a report, a tool's result, the welcome.
    Listing(String),
    /// A command of the person and what it printed.
    Ran {
        /// The command.
        command: String,
        /// Its output and how it ended.
        output: String,
    },
    /// The last exchange of the profile is taken back: it vanishes from sight, and its message may be typed again.
    Undone(String),
    /// A tool waits for the person's answer.
    Ask(Question),
    /// Open this file in the person's editor, then say [`super::Session::edited`].
    Edit(#[serde(serialize_with = "shown_path")] PathBuf),
    /// Leave, with these words.
    Leave(String),
}

/// A path that is not UTF-8 is shown as far as it is.
fn shown_path<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

/// A question that waits for the person. Dropping it means no.
#[derive(Debug, Serialize)]
pub(crate) struct Question {
    /// What it is about.
    pub request: ApprovalRequest,
    /// Where the answer goes.
    #[serde(skip)]
    pub reply: Sender<Verdict>,
}

/// The person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Yes, this time.
    Once,
    /// Yes, and for exactly this in this session.
    Always,
    /// No.
    No,
    /// No, with a word to the model.
    NoBecause(String),
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    /// It is complete.
    Complete,
    /// The person stopped it; what came stays.
    Stopped,
    /// It failed; [`Show::Failed`] follows.
    Failed,
}

/// The state that a status line shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Status {
    /// The provider's name; `None` while it is being chosen or cannot be.
    pub provider: Option<&'static str>,
    /// The model's name.
    pub model: String,
    /// The active profile.
    pub profile: String,
    /// Messages in the conversation.
    pub messages: usize,
    /// US dollars of this session.
    pub cost: f64,
    /// Tokens of this session, in and out.
    pub tokens: u64,
    /// Percent of the context in use, when anybody counts.
    pub context: Option<u64>,
    /// Coding mode.
    pub coding: bool,
    /// Shell mode, with its directory.
    pub shell: Option<PathBuf>,
    /// ntfy topics that are listened to.
    pub topics: usize,
    /// What runs now, longest first.
    pub running: Vec<Running>,
}

/// Something that takes time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Running {
    /// The command or tool that the person called; empty for an answer.
    pub what: String,
    /// Since when.
    pub since: Instant,
    /// It goes on beside the conversation.
    pub background: bool,
}

impl Running {
    /// How long it has run.
    pub(crate) fn took(&self) -> Duration {
        self.since.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::problem::Kind;
    use crate::store::chat_log::Role;
    use std::os::unix::ffi::OsStringExt;

    /// The variant after `show`; a new one does not compile here before it has its place.
    fn next(show: Option<&Show>) -> Option<Show> {
        let words = || "Words.".to_owned();
        Some(match show {
            None => Show::Past(vec![Entry {
                role: Role::You,
                text: words(),
                time: "14:30".to_owned(),
            }]),
            Some(Show::Past(_)) => Show::Profile("ann".to_owned()),
            Some(Show::Profile(_)) => Show::You {
                text: words(),
                time: "14:31".to_owned(),
            },
            Some(Show::You { .. }) => Show::Event(Event::Delta(words())),
            Some(Show::Event(_)) => Show::AnswerEnd(End::Stopped),
            Some(Show::AnswerEnd(_)) => {
                let mut problem = Problem::new(Kind::Network, "No answer.").next("Try again.");
                problem.why = Some("reset".into());
                Show::Failed(problem)
            }
            Some(Show::Failed(_)) => Show::System(words()),
            Some(Show::System(_)) => Show::Call(words()),
            Some(Show::Call(_)) => Show::Listing(words()),
            Some(Show::Listing(_)) => Show::Ran {
                command: "ls".to_owned(),
                output: "a\nb".to_owned(),
            },
            Some(Show::Ran { .. }) => Show::Undone(words()),
            Some(Show::Undone(_)) => {
                let request = ApprovalRequest::new("Run it?", "run it", "make\u{1b}");
                Show::Ask(Question {
                    request: request.in_dir(Path::new("/work")),
                    reply: crossbeam_channel::bounded(1).0,
                })
            }
            Some(Show::Ask(_)) => Show::Edit(std::ffi::OsString::from_vec(vec![b'/', 0xff]).into()),
            Some(Show::Edit(_)) => Show::Leave(words()),
            Some(Show::Leave(_)) => return None,
        })
    }

    #[test]
    fn everything_that_a_face_is_told_has_a_stable_form_as_json() {
        let mut forms = Vec::new();
        let mut last = None;
        while let Some(show) = next(last.as_ref()) {
            let text = serde_json::to_string(&show).unwrap();
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert!(value["type"].is_string(), "{text}");
            forms.push(text);
            last = Some(show);
        }
        let expected = [
            r#"{"type":"past","data":[{"role":"you","text":"Words.","time":"14:30"}]}"#,
            r#"{"type":"profile","data":"ann"}"#,
            r#"{"type":"you","data":{"text":"Words.","time":"14:31"}}"#,
            r#"{"type":"event","data":{"type":"delta","data":"Words."}}"#,
            r#"{"type":"answer_end","data":"stopped"}"#,
            r#"{"type":"failed","data":{"kind":"network","what":"No answer.","next":["Try again."],"facts":null,"why":"reset"}}"#,
            r#"{"type":"system","data":"Words."}"#,
            r#"{"type":"call","data":"Words."}"#,
            r#"{"type":"listing","data":"Words."}"#,
            r#"{"type":"ran","data":{"command":"ls","output":"a\nb"}}"#,
            r#"{"type":"undone","data":"Words."}"#,
            r#"{"type":"ask","data":{"request":{"question":"Run it?","act":"run it","text":"make\\x1b","place":"/work"}}}"#,
            "{\"type\":\"edit\",\"data\":\"/\u{fffd}\"}",
            r#"{"type":"leave","data":"Words."}"#,
        ];
        assert_eq!(forms, expected);
    }
}
