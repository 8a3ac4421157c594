//! A client of the Agent Client Protocol: starts `marvin acp`, calls methods, answers what it is asked, and keeps every line.

use serde_json::{Value, json};

use super::conversation::{calls, says};
use super::home::Home;
use super::run::{Done, Marvin, Running};
use super::server::{Answer, Server};
use super::wait::found;
use super::wire::openai;

/// Answers a request of the agent with a result or an error; `None` never.
type Answering = Box<dyn FnMut(&Value) -> Option<Result<Value, Value>>>;

/// The client.
pub struct Editor {
    running: Running,
    /// The id that was used last.
    last: u64,
    /// Lines that were looked at.
    seen: usize,
    answering: Answering,
}

/// What is selected when the agent asks about a call.
pub fn selects(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

impl Editor {
    /// Starts it. Questions about calls are answered with `once`.
    pub fn start(marvin: Marvin) -> Self {
        Self {
            running: marvin.arg("acp").stdin_open().spawn(),
            last: 0,
            seen: 0,
            answering: Box::new(|_| Some(Ok(selects("once")))),
        }
    }

    /// Starts it in a home with a model, and introduces itself.
    pub fn begin(home: &Home, model: &Server) -> Self {
        Self::begin_with(home.marvin().with_model(model), json!({}))
    }

    /// The same with these abilities.
    pub fn begin_with(marvin: Marvin, abilities: Value) -> Self {
        let mut editor = Self::start(marvin);
        let params = json!({"protocolVersion": 1, "clientCapabilities": abilities});
        editor.call("initialize", params);
        editor
    }

    /// From now on requests of the agent are answered so.
    pub fn answers(
        &mut self,
        answering: impl FnMut(&Value) -> Option<Result<Value, Value>> + 'static,
    ) {
        self.answering = Box::new(answering);
    }

    /// Every whole line so far.
    pub fn lines(&self) -> Vec<Value> {
        let text = self.running.stdout();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        whole.lines().map(read).collect()
    }

    /// Writes a line.
    pub fn send(&mut self, line: &Value) {
        self.write(&format!("{line}\n"));
    }

    /// Writes bytes as they are.
    pub fn write(&mut self, text: &str) {
        self.running.write(text.as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and returns its id.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Answers what the agent has asked since the last time.
    fn attend(&mut self) -> Vec<Value> {
        let lines = self.lines();
        for line in &lines[self.seen..] {
            if !line["method"].is_string() || line["id"].is_null() {
                continue;
            }
            let id = line["id"].clone();
            match (self.answering)(line) {
                Some(Ok(result)) => {
                    self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
                }
                Some(Err(error)) => {
                    self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
                }
                None => {}
            }
        }
        self.seen = lines.len();
        lines
    }

    /// The first line that `fits`; questions are answered meanwhile.
    pub fn line(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        found(what, || self.attend().into_iter().find(&fits))
    }

    /// The whole answer to the request `id`.
    pub fn answer(&mut self, id: u64) -> Value {
        self.line(&format!("an answer to {id}"), |line| {
            line["id"] == id && line["method"].is_null()
        })
    }

    /// Calls a method and returns its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let answer = self.answer(id);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Calls a method and returns its error.
    pub fn fails(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let answer = self.answer(id);
        assert!(answer["error"].is_object(), "{method}: {answer}");
        answer["error"].clone()
    }

    /// A new session in the working directory of this home.
    pub fn open(&mut self, home: &Home) -> String {
        let params = json!({"cwd": home.work(), "mcpServers": []});
        let opened = self.call("session/new", params);
        opened["sessionId"].as_str().unwrap().to_owned()
    }

    /// Sends a prompt of text and returns the id of the request.
    pub fn prompts(&mut self, session: &str, text: &str) -> u64 {
        let blocks = json!([{"type": "text", "text": text}]);
        self.ask(
            "session/prompt",
            json!({"sessionId": session, "prompt": blocks}),
        )
    }

    /// Has a prompt of text answered and returns why that ended.
    pub fn prompt(&mut self, session: &str, text: &str) -> String {
        let id = self.prompts(session, text);
        let answer = self.answer(id);
        let reason = answer["result"]["stopReason"].as_str();
        reason.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// The updates of a session so far, of this kind.
    pub fn updates(&self, session: &str, kind: &str) -> Vec<Value> {
        let lines = self.lines().into_iter();
        let updates = lines.filter(|line| line["params"]["sessionId"] == session);
        let updates = updates.map(|line| line["params"]["update"].clone());
        updates
            .filter(|update| update["sessionUpdate"] == kind)
            .collect()
    }

    /// The text of the answers of a session so far.
    pub fn said(&self, session: &str) -> String {
        let chunks = self.updates(session, "agent_message_chunk");
        let texts = chunks.iter().map(|chunk| chunk["content"]["text"].as_str());
        texts.map(Option::unwrap_or_default).collect()
    }

    pub fn running(&mut self) -> &mut Running {
        &mut self.running
    }

    /// Closes its input and waits for its end.
    pub fn close(self) -> Done {
        self.running.wait()
    }
}

/// What the model was asked last.
pub fn last_sent(server: &Server) -> Value {
    let mut requests = server.requests().into_iter();
    let last = requests.rfind(|request| request.method == "POST");
    last.expect("a request to the model").json()
}

/// A model that does what the user's last message says: `run COMMAND`, `call TOOL {…}`, `slow`, else it answers to it.
pub fn obedient_model() -> Server {
    Server::answering(|request, _| {
        if request.path.ends_with("/models") {
            let models = json!([{"id": "test-model"}, {"id": "other-model"}]);
            return Answer::json(&json!({"object": "list", "data": models}));
        }
        let body = request.json();
        let messages = body["messages"].as_array().unwrap();
        let user = messages.iter().rfind(|message| message["role"] == "user");
        let user = user.map(|message| &message["content"]);
        let parts = user.and_then(|user| user[0]["text"].as_str());
        let user = parts.or(user.and_then(Value::as_str)).unwrap_or_default();
        let result = messages.last().filter(|last| last["role"] == "tool");
        if let Some(result) = result {
            return says(&format!("It said {}", result["content"]));
        }
        match user.split_once(' ') {
            Some(("run", command)) => calls("run_command", json!({"command": command})),
            Some(("call", rest)) => {
                let (tool, args) = rest.split_once(' ').unwrap();
                calls(tool, serde_json::from_str(args).unwrap())
            }
            _ if user == "ponder" => {
                let thought = openai::chunk(json!({"reasoning_content": "Let me see."}), None);
                let said = openai::chunk(json!({"content": "Pondered."}), Some("stop"));
                Answer::sse([openai::data(&thought), openai::data(&said)])
            }
            _ if user == "slow" => {
                let piece = openai::chunk(json!({"content": "slow"}), None);
                Answer::sse([openai::data(&piece)]).stall()
            }
            _ => says(&format!("Answer to {user}")),
        }
    })
    .lenient()
}
