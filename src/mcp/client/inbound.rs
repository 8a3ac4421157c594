//! What a server sends of its own accord: news, and questions to the person or about the working directory.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::connection::{List, ServerEvent, ServerEvents};
use super::questions::{Answer, Question, Questions};
use super::ring::Ring;
use super::secrets::Secrets;
use super::text::clipped;
use crate::base::cancel::Cancel;
use crate::base::json::put;
use crate::formats::json_rpc::RpcError;

/// Characters of a line of a server's log.
const MAX_LOG: usize = 2_000;

/// Whom the messages of one server go to.
pub(super) struct Inbound {
    /// Its name, cleaned.
    pub server: String,
    /// The folder that servers are told of; it may change.
    pub working_dir: Mutex<Option<PathBuf>>,
    pub questions: Option<Arc<dyn Questions>>,
    pub events: Option<Arc<dyn ServerEvents>>,
    pub ring: Arc<Ring>,
    pub secrets: Secrets,
    pub clock: QuestionClock,
    /// The server has asked which folders it may use.
    pub has_given_roots: AtomicBool,
    /// The server was told that it hears when they change.
    pub has_promised_roots: AtomicBool,
    /// Fires when the connection ends.
    pub stop: Cancel,
}

impl Inbound {
    /// What Marvin can do for this server.
    pub(super) fn capabilities(&self, is_modern: bool) -> Value {
        let mut capabilities = json!({});
        if let Some(questions) = &self.questions {
            let mut kinds = json!({});
            if questions.takes_forms() {
                put(&mut kinds, "form", json!({}));
            }
            if questions.opens_addresses() {
                put(&mut kinds, "url", json!({}));
            }
            if kinds != json!({}) {
                put(&mut capabilities, "elicitation", kinds);
            }
        }
        if self.working_dir().is_some() {
            let roots = match is_modern {
                true => json!({}),
                false => {
                    self.has_promised_roots.store(true, Ordering::SeqCst);
                    json!({"listChanged": true})
                }
            };
            put(&mut capabilities, "roots", roots);
        }
        capabilities
    }

    /// The result of what a server asks.
    ///
    /// # Errors
    /// Nobody here answers that.
    pub(super) fn answer(
        &self,
        method: &str,
        params: &Value,
        stop: &Cancel,
    ) -> Result<Value, RpcError> {
        match method {
            "roots/list" => Ok(self.roots()),
            "elicitation/create" => self.elicited(params, stop),
            "sampling/createMessage" => Err(RpcError::new(
                RpcError::NO_METHOD,
                format!("{} asked for a model; Marvin lends none.", self.server),
            )),
            _ => {
                let asked = clipped(method, 100);
                Err(RpcError::new(
                    RpcError::NO_METHOD,
                    format!(
                        "{} asked for {asked}, which Marvin does not have.",
                        self.server
                    ),
                ))
            }
        }
    }

    pub(super) fn working_dir(&self) -> Option<PathBuf> {
        let working_dir = &self.working_dir;
        (working_dir.lock().unwrap_or_else(PoisonError::into_inner)).clone()
    }

    /// From now on the folder is `dir`. True when that is another, of which the server wants to hear.
    pub(super) fn move_to(&self, dir: &Path) -> bool {
        let working_dir = &self.working_dir;
        let mut working_dir = working_dir.lock().unwrap_or_else(PoisonError::into_inner);
        if working_dir.as_deref() == Some(dir) {
            return false;
        }
        *working_dir = Some(dir.to_owned());
        self.has_given_roots.store(false, Ordering::SeqCst);
        self.has_promised_roots.load(Ordering::SeqCst)
    }

    pub(super) fn was_asked_for_roots(&self) -> bool {
        self.has_given_roots.load(Ordering::SeqCst)
    }

    fn roots(&self) -> Value {
        self.has_given_roots.store(true, Ordering::SeqCst);
        let roots: Vec<Value> = (self.working_dir().iter())
            .map(|dir| {
                let name = dir.file_name().unwrap_or(dir.as_os_str());
                json!({"uri": file_uri(dir), "name": name.to_string_lossy()})
            })
            .collect();
        json!({ "roots": roots })
    }

    fn elicited(&self, params: &Value, stop: &Cancel) -> Result<Value, RpcError> {
        let text = |key: &str| params.get(key).and_then(Value::as_str).unwrap_or_default();
        let message = text("message");
        let is_url = match params.get("mode") {
            None | Some(Value::Null) => false,
            Some(mode) if mode == "form" => false,
            Some(mode) if mode == "url" => true,
            Some(mode) => {
                let mode = mode
                    .as_str()
                    .map_or_else(|| mode.to_string(), str::to_owned);
                return Err(RpcError::new(
                    RpcError::INVALID_PARAMS,
                    format!(
                        "{} asked a question of the kind \"{}\", which Marvin does not know: {}",
                        self.server,
                        clipped(&mode, 40),
                        clipped(message, 300)
                    ),
                ));
            }
        };
        let questions = (self.questions.as_ref()).filter(|questions| match is_url {
            true => questions.opens_addresses(),
            false => questions.takes_forms(),
        });
        let Some(questions) = questions else {
            let advice = match is_url {
                true => "",
                false => " (marvin -p and marvin mcp call, read and prompt take --answers)",
            };
            let words = format!(
                "{} asked a question, and nobody can be asked here{advice}: {}",
                self.server,
                clipped(message, 300)
            );
            return Err(RpcError::new(RpcError::NO_METHOD, words));
        };
        let schema = params.get("requestedSchema").unwrap_or(&Value::Null);
        let question = match is_url {
            true => Question::Url {
                message,
                url: text("url"),
            },
            false => Question::Form { message, schema },
        };
        let _paused = self.clock.paused();
        Ok(match questions.ask(&self.server, question, stop) {
            Answer::Accept(_) if is_url => json!({"action": "accept"}),
            Answer::Accept(values) => json!({"action": "accept", "content": values}),
            Answer::Decline => json!({"action": "decline"}),
            Answer::Cancel => json!({"action": "cancel"}),
        })
    }

    /// Takes news; those that are unknown are nobody's.
    pub(super) fn notified(&self, method: &str, params: &Value) {
        let event = match method {
            "notifications/tools/list_changed" => ServerEvent::Changed(List::Tools),
            "notifications/prompts/list_changed" => ServerEvent::Changed(List::Prompts),
            "notifications/resources/list_changed" => ServerEvent::Changed(List::Resources),
            "notifications/resources/updated" => match params.get("uri").and_then(Value::as_str) {
                Some(uri) => ServerEvent::ResourceUpdated(uri.to_owned()),
                None => return,
            },
            "notifications/message" => {
                let level = params.get("level").and_then(Value::as_str);
                let data = match params.get("data") {
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                    None => String::new(),
                };
                let (level, text) = (
                    clipped(level.unwrap_or("info"), 20),
                    self.secrets.hide(clipped(&data, MAX_LOG)),
                );
                self.ring.line(&format!("{level}: {text}"));
                ServerEvent::Log { level, text }
            }
            _ => return,
        };
        self.tell(event);
    }

    /// The last lines that the server wrote for people.
    pub(super) fn last_lines(&self, most: usize) -> Vec<String> {
        let lines = self.ring.lines(most).into_iter();
        lines.map(|line| self.secrets.hide(line)).collect()
    }

    pub(super) fn tell(&self, event: ServerEvent) {
        if let Some(events) = &self.events {
            events.happened(event);
        }
    }
}

/// A folder as a `file://` address (RFC 8089).
fn file_uri(dir: &Path) -> String {
    use std::fmt::Write as _;
    use std::os::unix::ffi::OsStrExt as _;
    let mut uri = "file://".to_owned();
    for byte in dir.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

/// How long a person was asked in all: what waits for a server does not count that.
#[derive(Default)]
pub(super) struct QuestionClock(Mutex<ClockState>);

#[derive(Default)]
struct ClockState {
    open: usize,
    since: Option<Instant>,
    spent: Duration,
}

impl QuestionClock {
    fn lock(&self) -> MutexGuard<'_, ClockState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on a person is asked, until the guard is dropped.
    pub(super) fn paused(&self) -> Paused<'_> {
        let mut state = self.lock();
        state.open += 1;
        state.since.get_or_insert_with(Instant::now);
        Paused(self)
    }

    /// Whether somebody is being asked.
    pub(super) fn is_running(&self) -> bool {
        self.lock().open > 0
    }

    pub(super) fn spent(&self) -> Duration {
        let state = self.lock();
        state.spent + state.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// A person is being asked.
pub(super) struct Paused<'a>(&'a QuestionClock);

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.open -= 1;
        if state.open == 0 {
            let since = state.since.take();
            state.spent += since.map_or(Duration::ZERO, |since| since.elapsed());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_an_address_with_escapes() {
        assert_eq!(
            file_uri(Path::new("/home/ada/my pröject#1")),
            "file:///home/ada/my%20pr%C3%B6ject%231"
        );
    }

    #[test]
    fn a_question_of_an_unknown_kind_is_an_error_whoever_is_there() {
        let inbound = Inbound {
            server: "f".to_owned(),
            working_dir: Mutex::default(),
            questions: None,
            events: None,
            ring: Arc::default(),
            secrets: Secrets::default(),
            clock: QuestionClock::default(),
            has_given_roots: AtomicBool::default(),
            has_promised_roots: AtomicBool::default(),
            stop: Cancel::new(),
        };
        for mode in [json!("voice"), json!(3)] {
            let asked = json!({"mode": mode, "message": "x"});
            let error = inbound.answer("elicitation/create", &asked, &Cancel::new());
            assert_eq!(error.unwrap_err().code, RpcError::INVALID_PARAMS, "{asked}");
        }
    }

    #[test]
    fn overlapping_questions_count_once() {
        let clock = QuestionClock::default();
        let (one, two) = (clock.paused(), clock.paused());
        drop(one);
        assert!(clock.is_running());
        drop(two);
        assert!(!clock.is_running());
        let spent = clock.spent();
        assert_eq!(clock.spent(), spent);
    }
}
