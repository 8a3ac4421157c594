//! Events: everything a front end is told during a turn.

use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};

use super::display::Display;
use super::image::Image;
use super::message::ToolCall;
use super::pipeline_event::PipelineEvent;
use super::reply_event::ReplyEvent;
use super::usage::TurnUsage;
use super::wait::Wait;

/// Severity of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Something went wrong, but work continues.
    Warning,
}

/// An event. Front ends show it; logs and other programs may record it.
///
/// As JSON an event is `{"type": …, "data": …}`; durations are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Event {
    /// A chunk of the answer's visible text.
    Delta(String),
    /// A chunk of the model's thinking, never part of the answer.
    Thinking(String),
    /// The provider's signature of the thinking so far: whoever sends the thinking back sends it along.
    ThoughtSigned(String),
    /// The tools of a round are about to run, in call order.
    ToolsStarted(Vec<ToolCall>),
    /// A call starts, waits for the user, or continues.
    CallState {
        /// Id of its call.
        id: String,
        /// Its new state.
        state: CallState,
    },
    /// A call reports progress.
    Progress {
        /// Id of its call.
        id: String,
        /// Progress as a sentence.
        words: String,
    },
    /// A program that a call runs has written something.
    Output {
        /// Id of its call.
        id: String,
        /// The last lines so far; they replace those of the event before.
        lines: String,
        /// The last 4 KiB so far, as they came.
        #[serde(skip)]
        recent: Vec<u8>,
    },
    /// A call runs with other arguments than the model wrote, as a hook or whoever was asked wants.
    CallChanged {
        id: String,
        /// The arguments, as JSON.
        args: String,
    },
    /// A call ended.
    ToolDone {
        /// Id of its call.
        id: String,
        /// The tool's name.
        name: String,
        /// It failed, as far as the model is concerned.
        failed: bool,
        /// How it ended, for display to the user.
        end: CallEnd,
        /// Its run time, without the time it waited for the user.
        #[serde(rename = "took_ms", serialize_with = "milliseconds")]
        took: Duration,
        /// Outside services that it got responses from.
        answered_by: Vec<&'static str>,
        /// Its result.
        text: String,
        #[serde(skip)]
        images: Vec<Image>,
        /// Its visual form, if it has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<Display>,
    },
    /// A permission did not let a call run.
    Denied {
        /// Id of its call.
        id: String,
        /// The tool's name.
        name: String,
        /// What decided it.
        reason: DenialReason,
        /// Why, and how it could be allowed.
        message: String,
    },
    /// What the answer waits for from now on.
    Wait(Wait),
    /// A message of the program to the user.
    Notice(Level, String),
    /// A model call ended and was counted.
    Turn(TurnUsage),
    /// The model's reply to a request is whole. The calls that it made, if any, follow.
    ReplyEnded(StopReason),
    /// The conversation was shortened; tokens of its messages.
    Compacted {
        /// Before.
        before: u64,
        /// Now.
        after: u64,
    },
    /// A sub-agent's message or result of a call, as it tells it to programs.
    ChildLine {
        /// Id of the call that started it.
        call: String,
        /// A line of the JSON form.
        line: String,
    },
    /// Something happened in a run of the pipeline.
    Pipeline(PipelineEvent),
    /// Something happened in the reply flow.
    Reply(ReplyEvent),
}

/// Why the model stopped writing, in the words of Anthropic's Messages API
/// (<https://docs.anthropic.com/en/api/handling-stop-reasons>).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    EndTurn,
    /// It calls tools.
    ToolUse,
    /// A limit of tokens.
    MaxTokens,
    /// Its window is full.
    ModelContextWindowExceeded,
    /// It declined, or a filter did for it.
    Refusal,
    /// The provider paused it in the middle.
    PauseTurn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// It runs.
    Running,
    /// It waits for the user's approval.
    Waiting,
}

/// What decided that a call may not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DenialReason {
    Rule,
    /// The permission mode.
    Mode,
    Hook,
    /// Whoever was asked.
    Asked,
    /// There was no answer to the question.
    Other,
}

/// How a call ended, for the user. For the model a failing command is an ordinary result, but it is not a success.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    /// It succeeded.
    #[default]
    Success,
    /// Its program ended with this status, which is not 0.
    ExitCode(i32),
    /// A signal ended its program.
    Signal(i32),
    /// Its time limit was reached.
    Timeout,
    /// The user did not approve it.
    Declined,
    /// The user stopped it.
    Stopped,
    /// It failed in another way.
    Failure,
}

fn milliseconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// In the output of the non-interactive mode, the prefix of a line with the names of a round's tools: two spaces, U+1F527, one space.
pub(crate) const TOOLS_MARKER: &str = "  \u{1f527} ";

/// The prefix of a line of a sub-agent's messages and results on its standard error.
pub(crate) const CHILD_LINE_MARKER: &str = "MARVIN_LINE:";

/// Receives events: the terminal interface through a channel, the non-interactive mode by writing at once.
///
/// Called from the turn's thread and from tool threads. It must not block on anything but its own output.
pub trait EventSink: Send + Sync {
    /// Takes one event.
    fn emit(&self, event: Event);

    /// Whether it has a use for [`Event::ChildLine`], which sub-agents do not tell otherwise.
    fn takes_child_lines(&self) -> bool {
        false
    }
}

/// A sink that ignores everything: for single tools, and for tests that need no events.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullSink;

impl EventSink for NullSink {
    fn emit(&self, _: Event) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::usage::Tokens;

    /// One of each variant; a new one does not compile here before it is in `samples`.
    fn next(event: Option<&Event>) -> Option<Event> {
        let id = || "a".to_owned();
        Some(match event {
            None => Event::Delta("Hello \"you\"\n\u{1b}".to_owned()),
            Some(Event::Delta(_)) => Event::Thinking("Hm.".to_owned()),
            Some(Event::Thinking(_)) => Event::ThoughtSigned("c2ln".to_owned()),
            Some(Event::ThoughtSigned(_)) => {
                Event::ToolsStarted(vec![ToolCall::new(id(), "tree", "{}")])
            }
            Some(Event::ToolsStarted(_)) => Event::CallState {
                id: id(),
                state: CallState::Waiting,
            },
            Some(Event::CallState { .. }) => Event::Progress {
                id: id(),
                words: "12 of 40 MB".to_owned(),
            },
            Some(Event::Progress { .. }) => Event::Output {
                id: id(),
                lines: "one\ntwo".to_owned(),
                recent: b"one\n\ntwo".to_vec(),
            },
            Some(Event::Output { .. }) => Event::CallChanged {
                id: id(),
                args: "{}".to_owned(),
            },
            Some(Event::CallChanged { .. }) => Event::ToolDone {
                id: id(),
                name: "run_command".to_owned(),
                failed: false,
                end: CallEnd::ExitCode(3),
                took: Duration::from_micros(1_500_900),
                answered_by: vec!["nominatim"],
                text: "No such file.".to_owned(),
                images: Vec::new(),
                display: Some(Display::Patch {
                    text: "+a".to_owned(),
                }),
            },
            Some(Event::ToolDone { .. }) => Event::Denied {
                id: id(),
                name: "run_command".to_owned(),
                reason: DenialReason::Rule,
                message: "Not allowed.".to_owned(),
            },
            Some(Event::Denied { .. }) => Event::Wait(Wait::Retry {
                provider: "groq",
                is_rate_limit: true,
                wait: Duration::from_millis(2_500),
                attempt: 1,
                most: 2,
                status: Some(429),
            }),
            Some(Event::Wait(_)) => Event::Notice(Level::Warning, "Waiting 3 s.".to_owned()),
            Some(Event::Notice(..)) => Event::Turn(TurnUsage {
                provider: "groq".to_owned(),
                model: "m".to_owned(),
                tokens: Tokens {
                    input: 7,
                    output: 2,
                    ..Tokens::default()
                },
                cost: 0.25,
                cost_estimated: true,
                plan: None,
            }),
            Some(Event::Turn(_)) => Event::ReplyEnded(StopReason::MaxTokens),
            Some(Event::ReplyEnded(_)) => Event::Compacted {
                before: 9_000,
                after: 900,
            },
            Some(Event::Compacted { .. }) => Event::ChildLine {
                call: id(),
                line: "{}".to_owned(),
            },
            Some(Event::ChildLine { .. }) => Event::Pipeline(PipelineEvent::PhaseStarted {
                phase: "1a".to_owned(),
            }),
            Some(Event::Pipeline(_)) => Event::Reply(ReplyEvent::Trace {
                text: "🪴 Warm profile".to_owned(),
            }),
            Some(Event::Reply(_)) => return None,
        })
    }

    #[test]
    fn every_event_has_a_stable_form_as_json() {
        let mut forms = Vec::new();
        let mut last = None;
        while let Some(event) = next(last.as_ref()) {
            let text = serde_json::to_string(&event).unwrap();
            assert!(!text.contains('\n') && !text.contains('\u{1b}'), "{text}");
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert!(
                value["type"].is_string() && !value["data"].is_null(),
                "{text}"
            );
            forms.push(text);
            last = Some(event);
        }
        let expected = [
            r#"{"type":"delta","data":"Hello \"you\"\n\u001b"}"#,
            r#"{"type":"thinking","data":"Hm."}"#,
            r#"{"type":"thought_signed","data":"c2ln"}"#,
            r#"{"type":"tools_started","data":[{"id":"a","name":"tree","args":"{}"}]}"#,
            r#"{"type":"call_state","data":{"id":"a","state":"waiting"}}"#,
            r#"{"type":"progress","data":{"id":"a","words":"12 of 40 MB"}}"#,
            r#"{"type":"output","data":{"id":"a","lines":"one\ntwo"}}"#,
            r#"{"type":"call_changed","data":{"id":"a","args":"{}"}}"#,
            r#"{"type":"tool_done","data":{"id":"a","name":"run_command","failed":false,"end":{"exit_code":3},"took_ms":1500,"answered_by":["nominatim"],"text":"No such file.","display":{"kind":"patch","text":"+a"}}}"#,
            r#"{"type":"denied","data":{"id":"a","name":"run_command","reason":"rule","message":"Not allowed."}}"#,
            r#"{"type":"wait","data":{"kind":"retry","provider":"groq","is_rate_limit":true,"wait_ms":2500,"attempt":1,"most":2,"status":429}}"#,
            r#"{"type":"notice","data":["warning","Waiting 3 s."]}"#,
            r#"{"type":"turn","data":{"provider":"groq","model":"m","tokens":{"input":7,"output":2,"cached":0,"written":0,"written_1h":0,"reasoning":0,"estimated":false},"cost":0.25,"cost_estimated":true}}"#,
            r#"{"type":"reply_ended","data":"max_tokens"}"#,
            r#"{"type":"compacted","data":{"before":9000,"after":900}}"#,
            r#"{"type":"child_line","data":{"call":"a","line":"{}"}}"#,
            r#"{"type":"pipeline","data":{"kind":"phase_started","phase":"1a"}}"#,
            r#"{"type":"reply","data":{"kind":"trace","text":"🪴 Warm profile"}}"#,
        ];
        assert_eq!(forms, expected);
        for (end, form) in [
            (CallEnd::Success, r#""success""#),
            (CallEnd::ExitCode(1), r#"{"exit_code":1}"#),
            (CallEnd::Signal(9), r#"{"signal":9}"#),
            (CallEnd::Timeout, r#""timeout""#),
            (CallEnd::Declined, r#""declined""#),
            (CallEnd::Stopped, r#""stopped""#),
            (CallEnd::Failure, r#""failure""#),
        ] {
            assert_eq!(serde_json::to_string(&end).unwrap(), form);
        }
    }
}
