//! A message: read from a line, or made into one.

use serde_json::{Map, Number, Value, json};

use crate::formats::json_lines;

const OTHER_VERSION: &str = "A message has \"jsonrpc\": \"2.0\".";

/// The id of a request, which comes back with its answer as it came.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum RpcId {
    /// A number; it should have no fraction.
    Number(Number),
    Text(String),
    /// That of an answer to a message that could not be read.
    Null,
}

impl RpcId {
    pub(crate) fn read(value: Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(Self::Number(number)),
            Value::String(text) => Some(Self::Text(text)),
            Value::Null => Some(Self::Null),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// The id of one of our own requests.
    pub(crate) fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            Self::Text(_) | Self::Null => None,
        }
    }

    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone()),
            Self::Null => Value::Null,
        }
    }
}

impl From<u64> for RpcId {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl RpcError {
    /// No JSON.
    pub(crate) const PARSE: i64 = -32_700;
    /// JSON, but no request, or one that may not come now.
    pub(crate) const INVALID_REQUEST: i64 = -32_600;
    /// There is no such method.
    pub(crate) const NO_METHOD: i64 = -32_601;
    /// A parameter is missing or wrong.
    pub(crate) const INVALID_PARAMS: i64 = -32_602;
    /// Everything else.
    pub(crate) const INTERNAL: i64 = -32_603;

    /// Without data.
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            code,
            message,
            data: None,
        }
    }

    /// The same with data.
    #[must_use]
    pub(crate) fn with(self, data: Value) -> Self {
        Self {
            data: Some(data),
            ..self
        }
    }

    /// Of the `error` of an answer.
    pub(crate) fn read(error: &Value) -> Self {
        let message = error.get("message").and_then(Value::as_str);
        Self {
            code: (error.get("code").and_then(Value::as_i64)).unwrap_or(Self::INTERNAL),
            message: message.unwrap_or_default().to_owned(),
            data: error.get("data").cloned(),
        }
    }

    fn value(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let (Some(data), Some(error)) = (&self.data, error.as_object_mut()) {
            error.insert("data".to_owned(), data.clone());
        }
        error
    }
}

/// What came in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Incoming {
    /// It wants an answer.
    Request {
        id: RpcId,
        method: String,
        /// Null when there are none.
        params: Value,
    },
    /// It wants none.
    Notification { method: String, params: Value },
    /// The answer to one of our requests.
    Answer {
        id: RpcId,
        result: Result<Value, RpcError>,
    },
}

/// What is wrong with a line, and the id to answer with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Misread {
    pub id: RpcId,
    pub error: RpcError,
    /// It can only be an answer to a request of ours: it has an id and no method. Programs whose handler returns nothing leave the result out.
    pub is_answer: bool,
}

impl Incoming {
    /// Reads a line.
    ///
    /// # Errors
    /// It is no JSON, or no message.
    pub(crate) fn read(line: &[u8]) -> Result<Self, Box<Misread>> {
        match json_lines::value(line) {
            Ok(Value::Object(message)) => Self::of(message),
            Ok(Value::Array(_)) => Err(invalid(
                RpcId::Null,
                "A message is an object; batches are not part of the protocol.",
            )),
            Ok(_) => Err(invalid(RpcId::Null, "A message is an object.")),
            Err(why) => Err(misread(
                RpcId::Null,
                RpcError::PARSE,
                format!("The line could not be read: {why}."),
            )),
        }
    }

    /// Reads a line of a protocol that holds to the version: a request or notification has to name it.
    ///
    /// # Errors
    /// It is no JSON, no message, or one of another version.
    pub(crate) fn read_versioned(line: &[u8]) -> Result<Self, Box<Misread>> {
        let Ok(Value::Object(message)) = json_lines::value(line) else {
            return Self::read(line);
        };
        let is_named = message
            .get("jsonrpc")
            .is_some_and(|version| version == "2.0");
        match Self::of(message)? {
            Self::Request { id, .. } if !is_named => Err(invalid(id, OTHER_VERSION)),
            Self::Notification { .. } if !is_named => Err(invalid(RpcId::Null, OTHER_VERSION)),
            message => Ok(message),
        }
    }

    /// Reads an object.
    ///
    /// # Errors
    /// It is no message.
    pub(crate) fn of(mut message: Map<String, Value>) -> Result<Self, Box<Misread>> {
        let id = match message.remove("id").map(RpcId::read) {
            None => None,
            Some(Some(id)) => Some(id),
            Some(None) => {
                let words = "An id is a number, a text or null.";
                return Err(invalid(RpcId::Null, words));
            }
        };
        if let Some(method) = message.remove("method") {
            let Value::String(method) = method else {
                let words = "The method is no text.";
                return Err(invalid(id.unwrap_or(RpcId::Null), words));
            };
            let params = message.remove("params").unwrap_or_default();
            return Ok(match id {
                Some(id) => Self::Request { id, method, params },
                None => Self::Notification { method, params },
            });
        }
        let result = match (message.remove("error"), message.remove("result")) {
            (Some(error), _) if !error.is_null() => Some(Err(RpcError::read(&error))),
            (_, result) => result.map(Ok),
        };
        match (id, result) {
            (Some(id), Some(result)) => Ok(Self::Answer { id, result }),
            (id, _) => {
                let is_answer = id.as_ref().is_some_and(|id| *id != RpcId::Null);
                let words = "A message has a method, or an id and a result or an error.";
                let mut misread = invalid(id.unwrap_or(RpcId::Null), words);
                misread.is_answer = is_answer;
                Err(misread)
            }
        }
    }
}

fn invalid(id: RpcId, words: &str) -> Box<Misread> {
    misread(id, RpcError::INVALID_REQUEST, words)
}

fn misread(id: RpcId, code: i64, words: impl Into<String>) -> Box<Misread> {
    let error = RpcError::new(code, words);
    Box::new(Misread {
        id,
        error,
        is_answer: false,
    })
}

/// Makes lines, without their ends.
impl Incoming {
    /// A request of ours.
    pub(crate) fn request(id: u64, method: &str, params: &Value) -> String {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    }

    /// A notification of ours.
    pub(crate) fn notification(method: &str, params: &Value) -> String {
        json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
    }

    /// The answer to a request.
    pub(crate) fn answer(id: &RpcId, result: &Result<Value, RpcError>) -> String {
        let id = id.value();
        match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error.value()}),
        }
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn requests_notifications_and_answers_are_told_apart() {
        let params = json!({"a": 1});
        for (line, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1}}"#,
                Incoming::Request {
                    id: 7.into(),
                    method: "m".to_owned(),
                    params: params.clone(),
                },
            ),
            (
                r#"{"id":null,"method":"m"}"#,
                Incoming::Request {
                    id: RpcId::Null,
                    method: "m".to_owned(),
                    params: Value::Null,
                },
            ),
            (
                r#"{"method":"m","params":{"a":1}}"#,
                Incoming::Notification {
                    method: "m".to_owned(),
                    params,
                },
            ),
            (
                r#"{"id":"x","result":null}"#,
                Incoming::Answer {
                    id: RpcId::Text("x".to_owned()),
                    result: Ok(Value::Null),
                },
            ),
            (
                r#"{"id":2,"error":{"code":-32002,"message":"gone","data":{"uri":"u"}}}"#,
                Incoming::Answer {
                    id: 2.into(),
                    result: Err(RpcError::new(-32002, "gone").with(json!({"uri": "u"}))),
                },
            ),
            // Some write both.
            (
                r#"{"id":2,"error":null,"result":{}}"#,
                Incoming::Answer {
                    id: 2.into(),
                    result: Ok(json!({})),
                },
            ),
            (
                r#"{"id":2,"error":"broken"}"#,
                Incoming::Answer {
                    id: 2.into(),
                    result: Err(RpcError::new(RpcError::INTERNAL, "")),
                },
            ),
        ] {
            assert_eq!(Incoming::read(line.as_bytes()).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn what_is_no_message_gets_the_error_and_the_id_that_it_should() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        for (line, code, id) in [
            ("{\"id\":1,", RpcError::PARSE, RpcId::Null),
            ("nul\0", RpcError::PARSE, RpcId::Null),
            (&deep, RpcError::PARSE, RpcId::Null),
            (
                "[{\"id\":1,\"method\":\"m\"}]",
                RpcError::INVALID_REQUEST,
                RpcId::Null,
            ),
            ("\"x\"", RpcError::INVALID_REQUEST, RpcId::Null),
            ("{}", RpcError::INVALID_REQUEST, RpcId::Null),
            ("{\"id\":1}", RpcError::INVALID_REQUEST, 1.into()),
            ("{\"result\":1}", RpcError::INVALID_REQUEST, RpcId::Null),
            (
                "{\"id\":{},\"method\":\"m\"}",
                RpcError::INVALID_REQUEST,
                RpcId::Null,
            ),
            (
                "{\"id\":3,\"method\":4}",
                RpcError::INVALID_REQUEST,
                3.into(),
            ),
        ] {
            let misread = Incoming::read(line.as_bytes()).unwrap_err();
            let shown = line.get(..40).unwrap_or(line);
            assert_eq!((misread.error.code, misread.id), (code, id), "{shown}");
        }
        for (line, is_answer) in [
            ("{\"id\":1}", true),
            ("{\"id\":1,\"error\":null}", true),
            ("{\"id\":null}", false),
            ("{\"result\":1}", false),
            ("{\"id\":3,\"method\":4}", false),
            ("{\"id\":1,", false),
        ] {
            let misread = Incoming::read(line.as_bytes()).unwrap_err();
            assert_eq!(misread.is_answer, is_answer, "{line}");
        }
        for (line, id) in [
            ("{\"id\":1,\"method\":\"m\"}", 1.into()),
            ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}", 1.into()),
            ("{\"jsonrpc\":2.0,\"method\":\"m\"}", RpcId::Null),
        ] {
            assert!(Incoming::read(line.as_bytes()).is_ok());
            let misread = Incoming::read_versioned(line.as_bytes()).unwrap_err();
            let error = (misread.error.code, misread.id);
            assert_eq!(error, (RpcError::INVALID_REQUEST, id), "{line}");
        }
        let misread = Incoming::read(b"{\"id\":\"\xff\"}").unwrap_err();
        assert!(misread.error.message.contains("not UTF-8"));
    }

    #[test]
    fn what_is_written_is_read_again_and_stays_on_one_line() {
        let params = json!({"text": "one\ntwo\u{2028}\0"});
        let result = Ok(json!({"text": "a\nb"}));
        let error = Err(RpcError::new(RpcError::INTERNAL, "no\nway").with(json!({"details": "x"})));
        let id = RpcId::Text("i\n".to_owned());
        for (line, expected) in [
            (
                Incoming::request(4, "m", &params),
                Incoming::Request {
                    id: 4.into(),
                    method: "m".to_owned(),
                    params: params.clone(),
                },
            ),
            (
                Incoming::notification("m", &params),
                Incoming::Notification {
                    method: "m".to_owned(),
                    params: params.clone(),
                },
            ),
            (
                Incoming::answer(&id, &result),
                Incoming::Answer {
                    id: id.clone(),
                    result,
                },
            ),
            (
                Incoming::answer(&RpcId::Null, &error),
                Incoming::Answer {
                    id: RpcId::Null,
                    result: error,
                },
            ),
        ] {
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(Incoming::read(line.as_bytes()).unwrap(), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Incoming::read(&bytes);
        }

        #[test]
        fn an_id_comes_back_as_it_came(text in "\\PC{0,20}", number in any::<i64>(), is_text in any::<bool>()) {
            let id = match is_text {
                true => json!(text),
                false => json!(number),
            };
            let line = json!({"id": id, "method": "m"}).to_string();
            let Ok(Incoming::Request { id: read, .. }) = Incoming::read(line.as_bytes()) else {
                panic!("no request: {line}");
            };
            let answer: Value = serde_json::from_str(&Incoming::answer(&read, &Ok(Value::Null))).unwrap();
            prop_assert_eq!(&answer["id"], &id);
        }
    }
}
