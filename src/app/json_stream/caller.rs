//! The calling program: its lines are read on a thread of their own, messages wait in a queue, requests are answered at once, and questions to it wait for
//! their answers.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, BufReader};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, after, bounded, never, select};
use serde_json::{Map, Value, json};

use super::answer_queue::AnswerQueue;
use super::line_writer::{LineWriter, MAX_TEXT};
use super::user_line::UserLine;
use crate::app::stream::say;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::formats::json_lines::{MAX_LINE_IN, NextLine, next_line, object};
use crate::mcp::client::servers::Servers;
use crate::model_call::user_facts::CallerPrompt;
use crate::tools::engine::context::SessionContext;

/// Messages that may wait.
const MAX_WAITING: usize = 1_000;
/// Questions without a time limit that may be open: those that people answer.
const MAX_QUESTIONS: usize = 64;
/// Questions with a time limit of their own that may be open.
const MAX_TIMED: usize = 4_096;
/// Things told whose answers may still come.
const MAX_TOLD: usize = 1_000;
/// The longest id of a request.
const MAX_ID: usize = 256;

/// A message, or why it cannot be one.
pub(super) type NextMessage = Outcome<UserLine>;

/// Answers a request of the caller at once; an error is the words for it.
pub(super) type AnswerRequest = fn(&Arc<Caller>, &Map<String, Value>) -> Result<Value, String>;

/// The calling program.
pub(crate) struct Caller {
    pub(super) writer: Arc<LineWriter>,
    pub(super) session: Arc<SessionContext>,
    inputs: Mutex<Inputs>,
    /// Has an item whenever something has come.
    wake: Sender<()>,
    woken: Receiver<()>,
    /// Stops the turn that runs. Locked before `inputs` where both are.
    turn: Mutex<Option<Cancel>>,
    questions: Mutex<Questions>,
    /// Its servers.
    pub(super) servers: Servers,
    /// What it may order beside messages.
    answer_request: AnswerRequest,
    /// Where answers wait to be written, once it is listened to.
    answers: OnceLock<AnswerQueue>,
}

/// What has come in.
#[derive(Default)]
struct Inputs {
    waiting: VecDeque<NextMessage>,
    is_closed: bool,
    /// A message has come, or `initialize`.
    has_begun: bool,
    /// Why `initialize` was refused: without what it wanted no message is answered.
    refused: Option<String>,
    /// A line could not be read.
    has_bad_line: bool,
    wishes: Wishes,
    /// A message was taken whose turn cannot be stopped yet, and whether it is not wanted any more.
    taken: Option<bool>,
    /// The model that answers now.
    model: String,
}

/// What the caller has asked for, from the next request on.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Wishes {
    pub(super) prompt: CallerPrompt,
    /// The JSON Schema that answers must fit.
    pub(super) schema: Option<Value>,
    /// None: the one of the start.
    pub(super) model: Option<String>,
    /// The most tokens for thinking, once the caller has said so.
    pub(super) thinking_tokens: Option<u64>,
}

/// Questions to the caller that have no answer.
#[derive(Default)]
struct Questions {
    last: u64,
    open: HashMap<String, OpenQuestion>,
    /// Those whose answers nobody waits for.
    told: HashSet<String>,
    is_closed: bool,
}

struct OpenQuestion {
    answer: Sender<Result<Value, String>>,
    /// It has a time limit.
    is_timed: bool,
}

impl Questions {
    /// Takes a question, and returns its id.
    fn open(&mut self, question: OpenQuestion) -> Outcome<String> {
        if self.is_closed {
            return Err(no_answers());
        }
        let most = match question.is_timed {
            true => MAX_TIMED,
            false => MAX_QUESTIONS,
        };
        let open = self.open.values();
        let alike = open.filter(|open| open.is_timed == question.is_timed);
        if alike.count() >= most {
            return Err(Problem::limit(format!(
                "{most} questions to the calling program are open already."
            )));
        }
        let id = self.next_id();
        self.open.insert(id.clone(), question);
        Ok(id)
    }

    fn next_id(&mut self) -> String {
        self.last += 1;
        format!("marvin-{}", self.last)
    }
}

fn no_answers() -> Problem {
    Problem::refused("The calling program has closed standard input and answers nothing any more.")
}

impl Caller {
    pub(super) fn new(
        writer: Arc<LineWriter>,
        session: Arc<SessionContext>,
        answer_request: AnswerRequest,
    ) -> Arc<Self> {
        let (wake, woken) = bounded(1);
        Arc::new(Self {
            writer,
            session,
            inputs: Mutex::default(),
            wake,
            woken,
            turn: Mutex::default(),
            questions: Mutex::default(),
            servers: Servers::default(),
            answer_request,
            answers: OnceLock::new(),
        })
    }

    /// Reads standard input on a thread of its own, which ends with it, or with the process.
    ///
    /// # Errors
    /// No thread can be started.
    pub(super) fn listen(self: &Arc<Self>) -> Outcome<()> {
        let _ = self
            .answers
            .set(AnswerQueue::new(Arc::clone(&self.writer))?);
        let caller = Arc::clone(self);
        let read = move || {
            let mut input = BufReader::new(io::stdin());
            loop {
                match next_line(&mut input, MAX_LINE_IN) {
                    Ok(NextLine::Line(line)) => caller.line(&line),
                    Ok(NextLine::TooLong) => caller.refuse_line("it is longer than 64 MiB"),
                    Ok(NextLine::End) => break,
                    Err(error) => {
                        say(&format!("Standard input cannot be read any more: {error}."));
                        break;
                    }
                }
            }
            caller.close();
        };
        let thread = thread::Builder::new().name("caller".to_owned()).spawn(read);
        thread
            .map(drop)
            .map_err(|error| Problem::system("Cannot start a thread for standard input", error))
    }

    /// One line of the caller.
    fn line(self: &Arc<Self>, line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let mut object = match object(line) {
            Ok(object) => object,
            Err(why) => return self.refuse_line(why),
        };
        let kind = object.get("type").and_then(Value::as_str);
        match kind.unwrap_or_default() {
            "user" => self.queue(UserLine::read(object)),
            "control_request" => self.request(&mut object),
            "control_response" => self.response(object.remove("response")),
            "control_cancel_request" => {}
            other => say(&format!(
                "A line of the type \"{}\" on standard input is ignored.",
                escape_controls(&clip(other, 40))
            )),
        }
    }

    fn refuse_line(&self, why: &str) {
        self.inputs().has_bad_line = true;
        say(&format!("A line on standard input is ignored: {why}."));
    }

    /// Queues a message.
    pub(super) fn queue(&self, message: NextMessage) {
        let mut inputs = self.inputs();
        inputs.has_begun |= inputs.refused.is_none();
        let is_full = inputs.waiting.len() >= MAX_WAITING;
        let refused = inputs.refused.clone();
        inputs.waiting.push_back(match message {
            Ok(_) if let Some(why) = refused => Err(Problem::refused(format!(
                "The message is not answered, because initialize was refused: {why}"
            ))),
            Ok(_) if is_full => Err(Problem::limit(format!(
                "{MAX_WAITING} messages wait already, so this one was not taken."
            ))
            .next("Wait for results before sending more.")),
            message => message,
        });
        drop(inputs);
        self.wake();
    }

    /// Nothing comes any more: what waits is answered, and questions are withdrawn.
    pub(super) fn close(&self) {
        self.inputs().is_closed = true;
        let open = {
            let mut questions = self.questions();
            questions.is_closed = true;
            std::mem::take(&mut questions.open)
        };
        open.keys().for_each(|id| self.answer(withdrawal(id)));
        // Whoever asked goes on when they are dropped.
        drop(open);
        self.wake();
    }

    fn wake(&self) {
        // A full channel wakes already.
        let _ = self.wake.try_send(());
    }

    fn inputs(&self) -> MutexGuard<'_, Inputs> {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn questions(&self) -> MutexGuard<'_, Questions> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn turn(&self) -> MutexGuard<'_, Option<Cancel>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next message; waits for one. `None` at the end of the input, or when `stop` fires.
    pub(super) fn next(&self, stop: &Cancel) -> Option<NextMessage> {
        let (fired, on_fire) = bounded(1);
        let _guard = stop.on_fire(move || {
            let _ = fired.send(());
        });
        loop {
            {
                let mut inputs = self.inputs();
                if stop.is_fired() {
                    return None;
                }
                if let Some(message) = inputs.waiting.pop_front() {
                    inputs.taken = Some(false);
                    return Some(message);
                }
                if inputs.is_closed {
                    return None;
                }
            }
            select! {
                recv(self.woken) -> _ => {}
                recv(on_fire) -> _ => return None,
            }
        }
    }

    /// A line could not be read: the run does not end well.
    pub(super) fn has_bad_line(&self) -> bool {
        self.inputs().has_bad_line
    }

    pub(super) fn wishes(&self) -> Wishes {
        self.inputs().wishes.clone()
    }

    /// Changes what the caller has asked for.
    pub(super) fn wish(&self, change: impl FnOnce(&mut Wishes)) {
        change(&mut self.inputs().wishes);
    }

    /// The model that answers now.
    pub(super) fn model(&self) -> String {
        self.inputs().model.clone()
    }

    pub(super) fn set_model(&self, model: &str) {
        model.clone_into(&mut self.inputs().model);
    }

    /// The turn that `stop` stops has begun, or none runs any more.
    pub(super) fn set_turn(&self, stop: Option<Cancel>) {
        if let Some(stop) = &stop {
            self.writer.begin_turn(stop.clone());
        }
        let is_unwanted = {
            let mut turn = self.turn();
            turn.clone_from(&stop);
            self.inputs().taken.take() == Some(true)
        };
        if let Some(stop) = stop.filter(|_| is_unwanted) {
            stop.fire();
        }
    }

    /// What answered the message has ended, and the same message may be answered once more.
    pub(super) fn pause_turn(&self) {
        let mut turn = self.turn();
        *turn = None;
        self.inputs().taken = Some(false);
    }
}

/// Requests of the caller.
impl Caller {
    fn request(self: &Arc<Self>, line: &mut Map<String, Value>) {
        let id = line.get("request_id").and_then(Value::as_str);
        let Some(id) = id.filter(|id| id.len() <= MAX_ID).map(str::to_owned) else {
            return self.refuse_line("its request_id is no text of at most 256 bytes");
        };
        let request = match line.remove("request") {
            Some(Value::Object(request)) => request,
            _ => Map::new(),
        };
        let response = match (self.answer_request)(self, &request) {
            Ok(response) => {
                json!({"subtype": "success", "request_id": id, "response": response})
            }
            Err(error) => json!({"subtype": "error", "request_id": id, "error": error}),
        };
        self.answer(json!({"type": "control_response", "response": response}));
    }

    /// Writes a line without waiting long for a caller that does not read.
    fn answer(&self, line: Value) {
        match self.answers.get() {
            Some(answers) => answers.write(line),
            None => self.writer.write_control(&line),
        }
    }

    /// Takes note that the conversation is set up; false when it has begun already.
    pub(super) fn begin(&self) -> bool {
        let mut inputs = self.inputs();
        inputs.refused = None;
        !std::mem::replace(&mut inputs.has_begun, true)
    }

    /// Takes note that it cannot be set up as the caller wants.
    pub(super) fn refuse_beginning(&self, why: &str) {
        let mut inputs = self.inputs();
        if !inputs.has_begun {
            inputs.refused = Some(why.to_owned());
        }
    }

    /// Stops the turn, if one runs or is about to; with `queue` what waits goes too. Returns the ids of the messages that wait.
    pub(super) fn interrupt(&self, queue: bool) -> Vec<String> {
        // Held until the token has fired: a turn that is tried again has another one.
        let turn = self.turn();
        let waiting = {
            let mut inputs = self.inputs();
            if let (None, Some(is_unwanted)) = (turn.as_ref(), inputs.taken.as_mut()) {
                *is_unwanted = true;
            }
            if queue {
                inputs.waiting.clear();
            }
            let waiting = inputs.waiting.iter().flatten();
            waiting.filter_map(|line| line.uuid.clone()).collect()
        };
        if let Some(stop) = turn.as_ref() {
            stop.fire();
        }
        waiting
    }
}

/// Questions to the caller.
impl Caller {
    /// Asks the caller and waits for the answer, for `limit` at most where there is one: people take their time.
    ///
    /// # Errors
    /// It answers with an error, it is gone, too many questions are open, this one is too long for a line, or its time is over or `stop` fires: then
    /// the question is withdrawn.
    pub(super) fn ask(
        &self,
        request: &Value,
        limit: Option<Duration>,
        stop: &Cancel,
    ) -> Outcome<Value> {
        if request.to_string().len() > MAX_TEXT {
            return Err(Problem::limit(
                "The question is too long for the calling program: a line has at most 1 MiB.",
            ));
        }
        let (send, answer) = bounded(1);
        let id = self.questions().open(OpenQuestion {
            answer: send,
            is_timed: limit.is_some(),
        })?;
        self.writer.write_control(
            &json!({"type": "control_request", "request_id": id, "request": request}),
        );
        let (fired, on_fire) = bounded(1);
        let _guard = stop.on_fire(move || {
            let _ = fired.send(());
        });
        let over = limit.map_or_else(never, after);
        select! {
            recv(answer) -> answer => match answer {
                Ok(Ok(response)) => Ok(response),
                Ok(Err(error)) => Err(Problem::refused(format!(
                    "The calling program could not answer: {}",
                    escape_controls(&clip(&error, 400))
                ))),
                Err(_) => Err(no_answers()),
            },
            recv(on_fire) -> _ => {
                self.withdraw(&id);
                Err(Problem::cancelled())
            }
            recv(over) -> _ => {
                self.withdraw(&id);
                Err(Problem::timeout(format!(
                    "The calling program did not answer within {} s.",
                    limit.unwrap_or_default().as_secs()
                )))
            }
        }
    }

    /// Tells the caller something; its answer, if there is one, says nothing.
    pub(super) fn tell(&self, request: &Value) {
        let id = {
            let mut questions = self.questions();
            if questions.is_closed {
                return;
            }
            if questions.told.len() >= MAX_TOLD {
                questions.told.clear();
            }
            let id = questions.next_id();
            questions.told.insert(id.clone());
            id
        };
        self.writer.write_control(
            &json!({"type": "control_request", "request_id": id, "request": request}),
        );
    }

    fn withdraw(&self, id: &str) {
        self.questions().open.remove(id);
        self.writer.write_control(&withdrawal(id));
    }

    /// An answer; one to a question that nobody asks is ignored.
    fn response(&self, response: Option<Value>) {
        let Some(Value::Object(mut response)) = response else {
            return self.refuse_line("it is an answer without a response");
        };
        let id = response.get("request_id").and_then(Value::as_str);
        let (open, was_told) = {
            let mut questions = self.questions();
            let open = id.and_then(|id| questions.open.remove(id));
            (open, id.is_some_and(|id| questions.told.remove(id)))
        };
        let Some(open) = open else {
            if was_told {
                return;
            }
            return say("An answer on standard input is to no open question, and is ignored.");
        };
        let text = |key: &str| response.get(key).and_then(Value::as_str);
        let answer = match text("subtype") {
            Some("success") => Ok(response.remove("response").unwrap_or_default()),
            Some("error") => Err(text("error").unwrap_or_default().to_owned()),
            _ => Err("its answer is neither a success nor an error".to_owned()),
        };
        let _ = open.answer.send(answer);
    }
}

fn withdrawal(id: &str) -> Value {
    json!({"type": "control_cancel_request", "request_id": id})
}

#[cfg(test)]
mod tests;
