//! One turn of a session: its events become pieces of a reply, until the model calls tools or is done.

use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;
use serde::Serialize;
use serde_json::json;

use super::connection::CallError;
use super::messages::{CallUsage, RequestedCall, SessionEvent};
use super::open_turn::{CallOutcome, OpenTurn};
use super::session::{CALL_TIMEOUT, CopilotSession};
use super::start::{call_failure, gone, not_signed_in, sentence};
use crate::base::cancel::Cancel;
use crate::base::problem::Problem;
use crate::base::variables::MARVIN_COPILOT_API_KEY;
use crate::chat::event::Level;
use crate::chat::message::{Message, ToolCall, ToolOutput, User};
use crate::chat::usage::PlanUse;
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::image_data::Base64;
use crate::llm::provider::Delta;
use crate::llm::reply::{ContextUse, Reply};

/// How long the first of several calls waits for the others. The CLI asks for all at once.
const GATHER_TIMEOUT: Duration = Duration::from_millis(250);
/// How long the calls that end a hanging turn may take.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// Rounds of calls that are refused after the last one that is allowed, before the turn is stopped.
const MIN_REFUSED_ROUNDS: usize = 3;

/// What the CLI calls the key for a server of the user's own.
const CLI_KEY: &str = "COPILOT_PROVIDER_API_KEY";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SendParams<'a> {
    session_id: &'a str,
    prompt: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<BlobAttachment<'a>>,
}

/// An image in a message
/// (<https://docs.github.com/en/copilot/how-tos/copilot-sdk/use-copilot-sdk/image-input>).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BlobAttachment<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    data: Base64<'a>,
    mime_type: &'static str,
    display_name: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultParams<'a> {
    session_id: &'a str,
    request_id: &'a str,
    result: ResultText<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultText<'a> {
    text_result_for_llm: &'a str,
    result_type: &'static str,
}

/// How a turn failed, and what it means for the session.
pub(super) struct TurnFailure {
    pub failure: Failure,
    /// The session can go on.
    pub keep: bool,
    /// The CLI was gone before it took the message, so that another one can take it.
    pub unsent: bool,
}

/// Where the reading of a turn stands.
struct Reading<'a> {
    session: &'a mut CopilotSession,
    turn: OpenTurn,
    on: &'a mut dyn FnMut(Delta<'_>),
    reply: Reply,
    /// Where in the reply's text the model's current message begins.
    message_start: usize,
    /// The CLI has begun with the message: an end before that is of an earlier turn.
    begun: bool,
    may_call: bool,
    /// Calls that are ready to be run, and when the first of them came.
    calls: Vec<ToolCall>,
    first_call: Option<Instant>,
}

/// Sends a message and reads until the model calls tools or is done.
pub(super) fn send(
    session: &mut CopilotSession,
    (prompt, messages): (&str, &[Message]),
    limit: Duration,
    may_call: bool,
    on: &mut dyn FnMut(Delta<'_>),
    stop: &Cancel,
) -> Result<Reply, TurnFailure> {
    // What came late of the turn before.
    while session.events.try_recv().is_ok() {}
    let turn = OpenTurn::new(limit);
    let params = SendParams {
        session_id: &session.id,
        prompt,
        attachments: attachments(messages),
    };
    let timeout = CALL_TIMEOUT.min(limit);
    let sent = session
        .connection
        .call("session.send", params, timeout, stop);
    if let Err(error) = sent {
        let unsent = matches!(error, CallError::Gone);
        let failure = call_failure(&session.connection, "taking the message", error);
        return Err(TurnFailure {
            failure,
            keep: false,
            unsent,
        });
    }
    Reading::new(session, turn, may_call, on).read(stop)
}

/// The images of the messages that are new to the CLI: those at the end.
fn attachments(messages: &[Message]) -> Vec<BlobAttachment<'_>> {
    let new = messages.iter().rev().map_while(|message| match message {
        Message::User(user) => Some(Some(user)),
        Message::System { .. } => Some(None),
        Message::Assistant(_) | Message::Tool(_) => None,
    });
    let mut new: Vec<&User> = new.flatten().collect();
    new.reverse();
    let images = new.into_iter().flat_map(User::sent_images);
    images
        .map(|(image, bytes)| BlobAttachment {
            kind: "blob",
            data: Base64(bytes),
            mime_type: image.kind.media_type(),
            display_name: &image.name,
        })
        .collect()
}

/// Goes on with a turn that waits for these results, which have waited so long for the user.
pub(super) fn resume(
    session: &mut CopilotSession,
    (results, waited): (&[&ToolOutput], Duration),
    may_call: bool,
    on: &mut dyn FnMut(Delta<'_>),
    stop: &Cancel,
) -> Result<Reply, TurnFailure> {
    let limit = Duration::ZERO;
    let mut turn = session.turn.take().unwrap_or_else(|| OpenTurn::new(limit));
    turn.deadline += waited;
    for result in results {
        match turn.requested.remove(&result.id) {
            Some(request) => answer(session, &request, &result.text, result.failed),
            None => {
                let outcome = CallOutcome {
                    text: result.text.clone(),
                    failed: result.failed,
                };
                turn.early.insert(result.id.clone(), outcome);
            }
        }
    }
    let mut reading = Reading::new(session, turn, may_call, on);
    reading.begun = true;
    reading.read(stop)
}

/// Answers a call. A failure is a result too: an error would hide its words from the model.
fn answer(session: &CopilotSession, request: &str, text: &str, failed: bool) {
    let params = ResultParams {
        session_id: &session.id,
        request_id: request,
        result: ResultText {
            text_result_for_llm: text,
            result_type: if failed { "failure" } else { "success" },
        },
    };
    session
        .connection
        .post("session.tools.handlePendingToolCall", params);
}

impl<'a> Reading<'a> {
    fn new(
        session: &'a mut CopilotSession,
        turn: OpenTurn,
        may_call: bool,
        on: &'a mut dyn FnMut(Delta<'_>),
    ) -> Self {
        let reply = Reply {
            deadline: Some(turn.deadline),
            ..Reply::default()
        };
        Self {
            session,
            turn,
            on,
            reply,
            message_start: 0,
            begun: false,
            may_call,
            calls: Vec::new(),
            first_call: None,
        }
    }

    fn read(mut self, stop: &Cancel) -> Result<Reply, TurnFailure> {
        let wake = self.session.wake.clone();
        let _wake = stop.on_fire(move || drop(wake.try_send(SessionEvent::Cancelled)));
        loop {
            let gathered = self.first_call.map(|first| first + GATHER_TIMEOUT);
            let until = gathered.map_or(self.turn.deadline, |at| at.min(self.turn.deadline));
            match self.session.events.recv_deadline(until) {
                Ok(SessionEvent::Idle) if self.begun => return Ok(self.reply),
                Ok(SessionEvent::Cancelled) if stop.is_fired() => {
                    self.session.abort();
                    return Err(self.failed(Failure::cancelled(), true));
                }
                Ok(SessionEvent::Gone) | Err(RecvTimeoutError::Disconnected) => {
                    let failure = gone(&self.session.connection);
                    return Err(self.failed(failure, false));
                }
                Ok(SessionEvent::Failed {
                    kind,
                    message,
                    status,
                }) => return Err(self.turn_failed(&kind, &message, status, stop)),
                Ok(SessionEvent::TooLong(bytes)) => return Err(self.too_long(bytes)),
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) if self.calls.is_empty() => {
                    return Err(self.timed_out(stop));
                }
                Err(RecvTimeoutError::Timeout) => return Ok(self.with_calls()),
            }
            if !self.calls.is_empty() && self.turn.announced.is_empty() {
                return Ok(self.with_calls());
            }
            if self.turn.refused_rounds > self.turn.rounds.max(MIN_REFUSED_ROUNDS) {
                self.session.abort();
                // The agent says what a turn means that ends with calls.
                self.reply.calls.append(&mut self.calls);
                return Ok(self.reply);
            }
        }
    }

    fn take(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::Begun => self.begun = true,
            SessionEvent::Text(text) => self.show(&text),
            SessionEvent::Thinking(text) => {
                (self.on)(Delta::Thinking(&text));
                self.reply.thinking.push_str(&text);
            }
            SessionEvent::Message { text, calls } => self.message(&text, calls),
            SessionEvent::ToolRequested { request, call } => self.requested(request, call),
            SessionEvent::ToolDone(id) => self.turn.announced.retain(|call| call.id != id),
            SessionEvent::Usage(usage) => self.used(usage),
            SessionEvent::Context { tokens, limit } => {
                self.reply.context = Some(ContextUse { tokens, limit });
            }
            SessionEvent::Credits(total) => {
                let new = total - self.session.counted_credits;
                if new > 0.0 && new.is_finite() {
                    self.session.counted_credits = total;
                    self.plan().credits += new / 1e9;
                }
            }
            // None comes for tools that were announced as needing none.
            SessionEvent::Permission(request) => {
                let params = json!({
                    "sessionId": self.session.id,
                    "requestId": request,
                    "result": {"kind": "approve-once"},
                });
                let method = "session.permissions.handlePendingPermissionRequest";
                self.session.connection.post(method, params);
            }
            SessionEvent::Retry(reason) => {
                let words = format!("⚠️ copilot tries again ({}).", sentence(&reason));
                (self.on)(Delta::Notice(Level::Warning, &words));
            }
            SessionEvent::Compacting => {
                let words = "🔄 Compacting conversation history...";
                (self.on)(Delta::Notice(Level::Info, words));
            }
            SessionEvent::Compacted => {
                let words = "── Context compacted. Older messages summarized. ──";
                (self.on)(Delta::Notice(Level::Info, words));
            }
            SessionEvent::Idle
            | SessionEvent::Cancelled
            | SessionEvent::Gone
            | SessionEvent::Failed { .. }
            | SessionEvent::TooLong(_) => {}
        }
    }

    fn show(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.message_start > 0 && self.reply.text.len() == self.message_start {
            (self.on)(Delta::Text("\n\n"));
            self.reply.text.push_str("\n\n");
            self.message_start = self.reply.text.len();
        }
        (self.on)(Delta::Text(text));
        self.reply.text.push_str(text);
    }

    /// The model's message is whole. Some models send no pieces of it.
    fn message(&mut self, text: &str, calls: Vec<RequestedCall>) {
        let shown = self.reply.text.get(self.message_start..);
        if let Some(rest) = shown.and_then(|shown| text.strip_prefix(shown)) {
            // It borrows from the event, not from the reply.
            let rest = rest.to_owned();
            self.show(&rest);
        }
        self.message_start = self.reply.text.len();
        if calls.is_empty() {
            return;
        }
        match self.may_call {
            true => self.turn.rounds += 1,
            false => self.turn.refused_rounds += 1,
        }
        self.turn.announced = calls;
    }

    /// The CLI waits for a call.
    fn requested(&mut self, request: String, call: RequestedCall) {
        self.turn.announced.retain(|other| other.id != call.id);
        if let Some(outcome) = self.turn.early.remove(&call.id) {
            return answer(self.session, &request, &outcome.text, outcome.failed);
        }
        if !self.may_call {
            let text = "Tool limit reached: answer now, with what you have.";
            return answer(self.session, &request, text, true);
        }
        self.turn.requested.insert(call.id.clone(), request);
        self.first_call.get_or_insert_with(Instant::now);
        self.calls
            .push(ToolCall::new(call.id, call.name, call.args));
    }

    fn used(&mut self, usage: CallUsage) {
        let mut sum = self.reply.usage.unwrap_or_default();
        sum.add(usage.tokens);
        self.reply.usage = Some(sum);
        self.reply.finish = usage.finish;
        if usage.quota_left.is_some() {
            self.plan().quota_left = usage.quota_left;
        }
    }

    fn plan(&mut self) -> &mut PlanUse {
        self.reply.plan.get_or_insert_default()
    }

    /// The reply with its calls; the turn stays open.
    fn with_calls(mut self) -> Reply {
        self.reply.calls.append(&mut self.calls);
        self.session.turn = Some(self.turn);
        self.reply
    }

    fn failed(self, failure: Failure, keep: bool) -> TurnFailure {
        TurnFailure {
            failure: failure.with_partial(self.reply),
            keep,
            unsent: false,
        }
    }

    /// An error, which is followed by the end of the turn: without waiting for that, the next turn would end with it.
    fn turn_failed(
        self,
        kind: &str,
        message: &str,
        status: Option<u16>,
        stop: &Cancel,
    ) -> TurnFailure {
        self.session.unsettled_since = Some(Instant::now());
        let keep = self.session.settle(stop);
        let words = sentence(message);
        let is_own_key = words.contains(CLI_KEY);
        let words = words.replace(CLI_KEY, MARVIN_COPILOT_API_KEY.name);
        let is_login = words.contains("No GitHub OAuth token");
        let failure = match status {
            _ if is_login => not_signed_in(""),
            Some(401 | 403) if is_own_key => Failure::new(
                FailureKind::Auth,
                Problem::refused(format!("copilot: {words}"))
                    .next(format!("{} is the key for your own server.", MARVIN_COPILOT_API_KEY.name)),
            ),
            Some(401 | 403) => Failure::new(
                FailureKind::Auth,
                Problem::refused(format!("copilot: {words}"))
                    .next("Sign in again (\"gh auth login\" or \"copilot login\"), and check that the plan includes this."),
            ),
            // The CLI has waited and tried again already.
            Some(429) => Failure::new(
                FailureKind::Quota,
                Problem::limit(format!("copilot: {words}"))
                    .next("Ask again later, or choose another model: --model NAME."),
            ),
            _ => {
                let kind = match kind {
                    "" | "query" => String::new(),
                    kind => format!(" ({})", sentence(kind)),
                };
                let server = status.is_some_and(|status| status >= 500);
                let failure = if server { FailureKind::Server } else { FailureKind::Refused };
                let problem = Problem::network(format!("copilot: {words}{kind}"));
                Failure::new(failure, problem.next("Ask again."))
            }
        };
        // A login that expired is read anew by the next CLI.
        let keep = keep && failure.kind != FailureKind::Auth;
        self.failed(failure, keep)
    }

    fn timed_out(self, stop: &Cancel) -> TurnFailure {
        let seconds = self.turn.limit.as_secs();
        let words = format!("⚠️ Response timed out after {seconds}s. Rebuilding session.");
        (self.on)(Delta::Notice(Level::Warning, &words));
        let connection = &self.session.connection;
        let answers = ["session.abort", "session.destroy"].map(|method| {
            let params = json!({"sessionId": self.session.id});
            connection.call(method, params, END_TIMEOUT, stop).is_ok()
        });
        if answers.contains(&false) {
            connection.close(Duration::ZERO);
        }
        let problem = Problem::timeout(format!(
            "Copilot did not finish its answer within {seconds} s."
        ))
        .next("Ask again, for less at once; the next message begins a new session.");
        self.failed(Failure::new(FailureKind::Stalled, problem), false)
    }

    fn too_long(self, bytes: u64) -> TurnFailure {
        let problem = Problem::limit(format!(
            "The Copilot CLI sent a message of {} MB, more than Marvin reads.",
            bytes >> 20
        ))
        .next("Ask for less at once.");
        self.session.abort();
        self.failed(Failure::new(FailureKind::Protocol, problem), false)
    }
}
