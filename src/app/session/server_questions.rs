//! Questions of servers to the user of a conversation: a form is asked field by field, an address is shown whole and opened on a yes.

use std::sync::Arc;

use crossbeam_channel::never;
use serde_json::Map;

use super::approve::asked;
use super::inbox::Inbox;
use super::ui_update::ApprovalAnswer;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::formats::address::Address;
use crate::mcp::client::form::{self, FormField};
use crate::mcp::client::questions::{Answer, Question, Questions};
use crate::mcp::client::text::clipped;
use crate::proc::browser;
use crate::tools::engine::approval::ApprovalRequest;

/// Characters of what a server says.
const MAX_MESSAGE: usize = 2_000;
/// Characters of an address; a longer one cannot be read.
const MAX_URL: usize = 2_000;

/// Asks the user through the session.
pub(super) struct ServerQuestions {
    pub(super) inbox: Arc<Inbox>,
    pub(super) env: Env,
}

impl ServerQuestions {
    /// What the user answers; none when nobody does any more.
    fn ask_one(&self, request: ApprovalRequest, stop: &Cancel) -> Option<ApprovalAnswer> {
        // Nothing but the user settles it.
        asked(&self.inbox, request, &never(), stop)
    }

    fn form(&self, server: &str, message: &str, fields: Vec<FormField>, stop: &Cancel) -> Answer {
        let mut content = Map::new();
        let introduction = format!("{server} asks: {}", clipped(message, MAX_MESSAGE));
        let question = |text: String| {
            ApprovalRequest::new("A server asks", "answer a server", text).takes_text()
        };
        if fields.is_empty() {
            return match self.ask_one(question(introduction), stop) {
                Some(ApprovalAnswer::Once | ApprovalAnswer::Always) => Answer::Accept(content),
                Some(ApprovalAnswer::No | ApprovalAnswer::NoBecause(_)) => Answer::Decline,
                None | Some(ApprovalAnswer::Dismissed) => Answer::Cancel,
            };
        }
        let count = fields.len();
        for (at, field) in fields.into_iter().enumerate() {
            let place = match count {
                1 => String::new(),
                _ => format!("{} of {count}: ", at + 1),
            };
            let mut wrong = String::new();
            loop {
                let mut text = format!("{introduction}\n");
                if field.is_secret() {
                    text.push_str(&format!(
                        "\nCareful: this looks like a secret, and what you write goes to {server}.\n"
                    ));
                }
                text.push_str(&format!("\n{place}{}{wrong}", field.description()));
                let value = match self.ask_one(question(text), stop) {
                    Some(ApprovalAnswer::NoBecause(written)) => field.parse(&written).map(Some),
                    Some(ApprovalAnswer::Once | ApprovalAnswer::Always) => match &field.default {
                        Some(default) => field.check(default).map(|()| Some(default.clone())),
                        // How one writes depends on the screen, which says it with the question.
                        None if field.is_required => Err("it is needed".to_owned()),
                        None => Ok(None),
                    },
                    Some(ApprovalAnswer::No) => return Answer::Decline,
                    None | Some(ApprovalAnswer::Dismissed) => return Answer::Cancel,
                };
                match value {
                    Ok(value) => {
                        content.extend(value.map(|value| (field.name.clone(), value)));
                        break;
                    }
                    Err(words) => wrong = format!("\n\nNot taken: {words}."),
                }
            }
        }
        Answer::Accept(content)
    }

    fn address(&self, words: &str, url: &str, stop: &Cancel) -> Answer {
        let is_web = url.starts_with("http://") || url.starts_with("https://");
        let address = Address::parse(url)
            .ok()
            .filter(|_| is_web && url.chars().count() <= MAX_URL);
        let Some(address) = address else {
            return Answer::Decline;
        };
        let text = format!("{words}\n\nhost: {}\n{url}", address.origin());
        let request = ApprovalRequest::new(
            "Open this address in your browser?",
            "open this address",
            text,
        )
        .yes_or_no();
        match self.ask_one(request, stop) {
            Some(ApprovalAnswer::Once | ApprovalAnswer::Always) => {
                // Where no browser can be started the user has the address on the screen.
                let _is_opened = browser::open_seen(&self.env, url);
                Answer::Accept(Map::new())
            }
            Some(ApprovalAnswer::No | ApprovalAnswer::NoBecause(_)) => Answer::Decline,
            None | Some(ApprovalAnswer::Dismissed) => Answer::Cancel,
        }
    }
}

impl Questions for ServerQuestions {
    fn takes_forms(&self) -> bool {
        true
    }

    fn opens_addresses(&self) -> bool {
        true
    }

    fn ask(&self, server: &str, question: Question<'_>, stop: &Cancel) -> Answer {
        let server = clipped(server, 64);
        match question {
            Question::Form { message, schema } => {
                self.form(&server, message, form::fields(schema), stop)
            }
            Question::Url { message, url } => {
                let words = format!("{server} asks: {}", clipped(message, MAX_MESSAGE));
                self.address(&words, url, stop)
            }
            Question::SignIn { url } => {
                let words = format!("{server} wants you to sign in: open the browser?");
                self.address(&words, url, stop)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::app::session::worker_event::WorkerEvent;

    /// What comes of a question when the user answers so; `None` drops a question unanswered. And the texts of the questions.
    fn asked(
        question: Question<'_>,
        verdicts: Vec<Option<ApprovalAnswer>>,
    ) -> (Answer, Vec<String>) {
        let (inbox, woken) = Inbox::new();
        let questions = ServerQuestions {
            inbox: Arc::clone(&inbox),
            env: Env::default(),
        };
        thread::scope(|scope| {
            let asking = scope.spawn(|| questions.ask("calc", question, &Cancel::new()));
            let texts = verdicts.into_iter().map(|verdict| {
                let question = loop {
                    woken.recv_timeout(Duration::from_secs(60)).unwrap();
                    let mut events = inbox.take().into_iter();
                    let question = events.find_map(|(_, event)| match event {
                        WorkerEvent::Question(question) => Some(question),
                        _ => None,
                    });
                    if let Some(question) = question {
                        break question;
                    }
                };
                if let Some(verdict) = verdict {
                    question.reply.send(verdict).unwrap();
                }
                question.request.text()
            });
            let texts = texts.collect();
            (asking.join().unwrap(), texts)
        })
    }

    fn written(text: &str) -> Option<ApprovalAnswer> {
        Some(ApprovalAnswer::NoBecause(text.to_owned()))
    }

    #[test]
    fn a_form_is_asked_field_by_field_and_checked_here() {
        let schema = json!({"required": ["age"], "properties": {
            "age": {"type": "integer", "minimum": 18},
            "password": {"type": "string"},
            "news": {"type": "boolean", "default": true},
        }});
        let form = Question::Form {
            message: "Who are you?",
            schema: &schema,
        };
        let once = || Some(ApprovalAnswer::Once);
        let (answer, texts) = asked(
            form,
            vec![once(), written("17"), written("40"), once(), once()],
        );
        let Answer::Accept(values) = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(Value::Object(values), json!({"age": 40, "news": true}));
        assert!(texts[0].contains("1 of 3: age"), "{texts:?}");
        for text in &texts {
            assert!(text.starts_with("calc asks: Who are you?"), "{text}");
        }
        assert!(
            texts[1].contains("it is needed") && texts[2].contains("less than 18"),
            "{texts:?}"
        );
        assert!(texts[3].contains("looks like a secret"), "{texts:?}");
        for (verdict, expected) in [
            (Some(ApprovalAnswer::No), Answer::Decline),
            (Some(ApprovalAnswer::Dismissed), Answer::Cancel),
            (None, Answer::Cancel),
        ] {
            assert_eq!(asked(form, vec![verdict]).0, expected);
        }
    }

    #[test]
    fn an_address_is_shown_whole_and_others_than_of_the_web_are_declined_unasked() {
        let url = |url| Question::Url {
            message: "Sign here.",
            url,
        };
        let (answer, texts) = asked(
            url("https://example.org/a?b=c"),
            vec![Some(ApprovalAnswer::No)],
        );
        assert_eq!(answer, Answer::Decline);
        assert!(
            texts[0].contains("host: https://example.org") && texts[0].contains("/a?b=c"),
            "{texts:?}"
        );
        for bad in ["file:///etc/passwd", "javascript:alert(1)", "https://"] {
            assert_eq!(asked(url(bad), Vec::new()).0, Answer::Decline, "{bad}");
        }
    }
}
