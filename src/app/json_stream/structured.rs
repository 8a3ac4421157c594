//! An answer that fits a JSON Schema: the tool by which the model gives it, and the text of an answer that holds it instead.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use super::tool_schema::{WRAPPED, wrapped};
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::CallEnd;
use crate::formats::json_schema::check::Misfit;
use crate::formats::json_schema::schema::Schema;
use crate::llm::provider::object_schema;
use crate::model_call::user_facts::AnswerForm;
use crate::tools::engine::context::SessionContext;
use crate::tools::engine::owned_tool::{NO_OBJECT, OwnedTool};
use crate::tools::engine::result::{Effect, ToolOk};
use crate::tools::engine::rules::READ;

/// The tool by which the model gives its answer.
const TOOL: &str = "structured_output";
/// How often the model may try.
const MAX_TRIES: u32 = 3;

/// What an answer has to fit, and what came of it.
#[derive(Clone)]
pub(super) struct StructuredAnswer {
    schema: Arc<Schema>,
    /// The value is a member of the tool's arguments, which have to be an object.
    is_wrapped: bool,
    /// What the model is told of it.
    form: Arc<AnswerForm>,
    /// The most bytes that the value may have as JSON.
    most: usize,
    state: Arc<Mutex<AnswerState>>,
}

#[derive(Default)]
struct AnswerState {
    value: Option<Value>,
    tries: u32,
    /// What was wrong with the last try.
    why: String,
}

/// What is to be done after the model has answered.
#[derive(Debug, PartialEq)]
pub(super) enum NextTry {
    /// There is a value.
    Done(Value),
    /// Tell the model this and let it answer once more.
    Again(String),
    /// It has tried often enough; the last time this was wrong.
    Exhausted(String),
}

impl StructuredAnswer {
    /// Offers the tool to the model of this session. The value may have `most` bytes as JSON.
    ///
    /// # Errors
    /// The schema is none that can be checked.
    pub(super) fn offer(session: &SessionContext, schema: &Value, most: usize) -> Outcome<Self> {
        let answer = Self::new(schema, most)?;
        let parameters = match answer.is_wrapped {
            true => wrapped(schema),
            false => schema.clone(),
        };
        let given = answer.clone();
        session.registry().register(OwnedTool {
            name: TOOL.to_owned(),
            module: TOOL.to_owned(),
            summary: "Gives the answer. Call it once, at the end, with the whole answer in this form; nothing else that you say is read.".to_owned(),
            schema: object_schema(parameters),
            rules: READ.of_run().direct().takes_any_arguments(),
            phrases: Arc::new([]),
            run: Box::new(move |_, args| given.call(args)),
        })?;
        Ok(answer)
    }

    fn new(schema: &Value, most: usize) -> Outcome<Self> {
        let form = AnswerForm {
            tool: TOOL.to_owned(),
            by_tool: format!(
                "End by calling {TOOL} with the whole answer, also where the answer is that something was not possible. What you say outside that call is not read."
            ),
            as_text: format!(
                "Answer with JSON alone, without words before or after it, and without calling a tool for it. It has to fit this JSON Schema:\n{schema}"
            ),
        };
        Ok(Self {
            form: Arc::new(form),
            most,
            schema: Arc::new(Schema::parse(&schema.to_string())?),
            is_wrapped: schema.get("type").and_then(Value::as_str) != Some("object"),
            state: Arc::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, AnswerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the model is told of the form of its answer.
    pub(super) fn form(&self) -> Arc<AnswerForm> {
        Arc::clone(&self.form)
    }

    /// A new message begins.
    pub(super) fn begin(&self) {
        *self.state() = AnswerState::default();
    }

    /// The model calls the tool.
    fn call(&self, args: &Map<String, Value>) -> Outcome<ToolOk> {
        let whole = args.get(NO_OBJECT).and_then(Value::as_str);
        let tried = match whole.map(serde_json::from_str) {
            Some(Ok(value)) => self.take(value),
            Some(Err(error)) => self.failed(format!("The arguments are no JSON: {error}.")),
            None => match args.get(WRAPPED).filter(|_| self.is_wrapped) {
                Some(value) => self.take(value.clone()),
                None => self.take_whole(Value::Object(args.clone())),
            },
        };
        match tried {
            NextTry::Done(_) => {
                Ok(ToolOk::from("The answer fits.".to_owned()).and(Effect::Answered))
            }
            NextTry::Again(words) => Err(Problem::input(words).next("Call it again.")),
            NextTry::Exhausted(words) => {
                let words = format!("{words}\nThere is no further try.");
                let told = ToolOk {
                    end: CallEnd::Failure,
                    ..ToolOk::from(words)
                };
                Ok(told.and(Effect::Answered))
            }
        }
    }

    /// One try whose arguments are the answer; also those that a model did not wrap, where they fit.
    fn take_whole(&self, args: Value) -> NextTry {
        match self.is_wrapped && !self.schema.check(&args).is_empty() {
            true => self.failed(format!(
                "The answer does not fit the schema:\n{WRAPPED}: required, but missing"
            )),
            false => self.take(args),
        }
    }

    /// One try.
    fn take(&self, value: Value) -> NextTry {
        let misfits = self.schema.check(&value);
        if !misfits.is_empty() {
            return self.failed(words_of(&misfits));
        }
        let bytes = value.to_string().len();
        if bytes > self.most {
            return self.failed(format!(
                "The answer fits the schema, but it has {bytes} bytes as JSON, and the calling program takes at most {}.",
                self.most
            ));
        }
        self.state().value = Some(value.clone());
        NextTry::Done(value)
    }

    fn failed(&self, words: String) -> NextTry {
        let mut state = self.state();
        state.tries += 1;
        state.why.clone_from(&words);
        match state.tries < MAX_TRIES {
            true => NextTry::Again(words),
            false => NextTry::Exhausted(words),
        }
    }

    /// What follows when a turn has ended whose last text was `said`.
    pub(super) fn after(&self, said: &str) -> NextTry {
        let (value, tries, why) = {
            let state = self.state();
            (state.value.clone(), state.tries, state.why.clone())
        };
        match value {
            Some(value) => NextTry::Done(value),
            None if tries >= MAX_TRIES => NextTry::Exhausted(why),
            None => match value_in(said) {
                Some(value) => self.take(value),
                None => self.failed(
                    "The answer is no JSON value, and it must be one that fits the schema."
                        .to_owned(),
                ),
            },
        }
        .with_hint()
    }
}

impl NextTry {
    fn with_hint(self) -> Self {
        match self {
            Self::Again(words) => Self::Again(format!(
                "{words}\nGive the answer again with {TOOL}, or as JSON alone where there is no such tool."
            )),
            other => other,
        }
    }
}

/// The value that a text is, or that its only fenced block holds.
fn value_in(text: &str) -> Option<Value> {
    let whole = text.trim();
    if let Ok(value) = serde_json::from_str(whole) {
        return Some(value);
    }
    let mut fences = whole.split("```");
    let (_, block, _) = (fences.next()?, fences.next()?, fences.next()?);
    // One block: what is before it, it, and what is behind it. Of several nobody knows which is meant.
    if fences.next().is_some() {
        return None;
    }
    let (_, inner) = block.split_once('\n')?;
    serde_json::from_str(inner.trim()).ok()
}

fn words_of(misfits: &[Misfit]) -> String {
    let mut words = "The answer does not fit the schema:".to_owned();
    for misfit in misfits {
        let place = match misfit.place.as_str() {
            "" => "the whole",
            place => place,
        };
        let _ = write!(words, "\n{place}: {}", misfit.words);
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer() -> StructuredAnswer {
        let schema =
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        StructuredAnswer::new(&schema, 100).unwrap()
    }

    #[test]
    fn a_value_is_the_whole_text_or_its_only_block() {
        for (text, value) in [
            (r#"{"n":1}"#, Some(json!({"n": 1}))),
            (" [1] \n", Some(json!([1]))),
            (
                "Here:\n```json\n{\"n\": 1}\n```\nDone.",
                Some(json!({"n": 1})),
            ),
            ("```\n7\n```", Some(json!(7))),
            (
                "```json\n{\"n\":1}\n```\nor {\n```json\n{\"n\":2}\n```",
                None,
            ),
            (
                "For instance\n```json\n{\"n\":0}\n```\nbut it is\n```json\n{\"n\":6}\n```",
                None,
            ),
            ("It is {\"n\":1}.", None),
            ("```json\n{\"n\":\n```", None),
            ("", None),
        ] {
            assert_eq!(value_in(text), value, "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_told_and_the_third_time_is_the_last() {
        let answer = answer();
        let NextTry::Again(words) = answer.after(r#"{"n":"x"}"#) else {
            panic!("no second try");
        };
        assert!(words.contains("/n: expected integer"), "{words}");
        assert!(matches!(answer.after("No."), NextTry::Again(words) if words.contains("no JSON")));
        assert!(
            matches!(answer.after("No."), NextTry::Exhausted(words) if words.contains("no JSON"))
        );
        answer.begin();
        assert_eq!(answer.after("{\"n\":2}"), NextTry::Done(json!({"n": 2})));
    }

    #[test]
    fn arguments_that_are_no_object_are_tries_too_and_may_be_the_answer() {
        let whole = |raw: &str| Map::from_iter([(NO_OBJECT.to_owned(), json!(raw))]);
        let answer = StructuredAnswer::new(&json!({"type": "array"}), 100).unwrap();
        assert!(answer.call(&whole("{bad")).is_err());
        let done = answer.call(&whole("[1, 2]")).unwrap();
        assert_eq!(done.effects, [Effect::Answered]);
        assert_eq!(answer.after(""), NextTry::Done(json!([1, 2])));
        answer.begin();
        assert!(answer.call(&whole("5")).is_err());
        assert!(answer.call(&whole("{bad")).is_err());
        let last = answer.call(&whole("5")).unwrap();
        assert_eq!(
            (last.end, &last.effects[..]),
            (CallEnd::Failure, &[Effect::Answered][..])
        );
        assert!(last.text.contains("expected array"), "{}", last.text);
    }

    #[test]
    fn a_value_that_is_too_long_for_its_reader_is_a_lost_try() {
        let answer = StructuredAnswer::new(&json!({"type": "array"}), 100).unwrap();
        let long = json!(["x".repeat(100)]).to_string();
        let NextTry::Again(words) = answer.after(&long) else {
            panic!("it was taken");
        };
        assert!(
            words.contains("104 bytes") && words.contains("at most 100"),
            "{words}"
        );
        assert_eq!(answer.after("[1]"), NextTry::Done(json!([1])));
    }

    #[test]
    fn the_tool_ends_the_turn_once_the_answer_fits() {
        let answer = answer();
        let args = |n: Value| Map::from_iter([("n".to_owned(), n)]);
        assert!(answer.call(&args(json!(1.5))).is_err());
        let done = answer.call(&args(json!(2))).unwrap();
        assert_eq!(done.effects, [Effect::Answered]);
        assert_eq!(answer.after(""), NextTry::Done(json!({"n": 2})));
        let wrapped = StructuredAnswer::new(&json!({"type": "array"}), 100).unwrap();
        let args = Map::from_iter([("value".to_owned(), json!([1]))]);
        assert!(wrapped.call(&args).is_ok());
        assert_eq!(wrapped.after(""), NextTry::Done(json!([1])));
    }

    #[test]
    fn a_value_that_is_not_wrapped_is_the_answer_where_it_fits_and_never_null() {
        let number = json!({"properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let args = json!({"n": 3});
        for (schema, args, value) in [
            (
                json!({"anyOf": [{"type": "null"}, number]}),
                &args,
                Some(&args),
            ),
            (json!(true), &args, Some(&args)),
            (json!({"type": ["array", "null"]}), &args, None),
            (json!({"type": ["array", "null"]}), &json!({}), None),
            (
                json!({"type": ["array", "null"]}),
                &json!({"value": null}),
                Some(&Value::Null),
            ),
        ] {
            let answer = StructuredAnswer::new(&schema, 100).unwrap();
            match (answer.call(args.as_object().unwrap()), value) {
                (Ok(_), Some(value)) => {
                    assert_eq!(answer.after(""), NextTry::Done(value.clone()));
                }
                (Err(problem), None) => {
                    assert!(problem.what.contains("value: required"), "{problem}");
                }
                (called, _) => panic!("{schema} {args}: {called:?}"),
            }
        }
    }
}
