//! What the protocol's conformance suite asks a server for: diagnostic tools, prompts and resources that try all that the engine can do. `marvin debug
//! mcp-fixture` serves them; no user meets them.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::{Map, Value, json};

use super::exchange::Exchange;
use super::offering::{Answer, MISSING_CAPABILITY, Offering, invalid_params, no_resource};
use crate::base::ids;
use crate::base::json::{JsonExt as _, put};
use crate::formats::json_rpc::RpcError;

/// What is the same each time: results of tools, schemas of parameters where there are any, questions, and lists.
const DATA: &str = r##"{
"results": {
  "test_simple_text": {"content": [{"type": "text", "text": "This is a simple text response for testing."}]}, "test_image_content": {"content": [{"type": "image", "data": "PNG", "mimeType": "image/png"}]}, "test_audio_content": {"content": [{"type": "audio", "data": "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=", "mimeType": "audio/wav"}]},
  "test_embedded_resource": {"content": [{"type": "resource", "resource": {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": "This is an embedded resource content."}}]},
  "test_multiple_content_types": {"content": [ {"type": "text", "text": "Multiple content types test:"}, {"type": "image", "data": "PNG", "mimeType": "image/png"}, {"type": "resource", "resource": {"uri": "test://mixed-content-resource", "mimeType": "application/json", "text": "{\"test\":\"data\",\"value\":123}"}}]}, "test_error_handling": {"content": [{"type": "text", "text": "This tool intentionally returns an error for testing"}], "isError": true}, "test_header_marks": {"content": [{"type": "text", "text": "The headers repeat the arguments."}]}, "json_schema_2020_12_tool": {"content": [{"type": "text", "text": "The arguments are not looked at."}]}},
"schemas": {
  "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]}, "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}, "test_header_marks": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "count": {"type": "integer", "x-mcp-header": "Count"}}},
  "json_schema_2020_12_tool": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}}, "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"}, "email": {"type": "string"}}, "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}], "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]}, "then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": false}},
"forms": {
  "test_elicitation": {"username": {"type": "string", "description": "User's response"}, "email": {"type": "string", "description": "User's email address"}},
  "test_elicitation_sep1034_defaults": {"name": {"type": "string", "default": "John Doe"}, "age": {"type": "integer", "default": 30}, "score": {"type": "number", "default": 95.5}, "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}, "verified": {"type": "boolean", "default": true}},
  "test_elicitation_sep1330_enums": {"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]}, "titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}]}, "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}, "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}}, "titledMulti": {"type": "array", "items": {"anyOf": [{"const": "value1", "title": "First Choice"}, {"const": "value2", "title": "Second Choice"}, {"const": "value3", "title": "Third Choice"}]}}}},
"asks": {"test_input_required_result_elicitation": "user_name", "test_input_required_result_sampling": "capital_question", "test_input_required_result_list_roots": "client_roots"},
"questions": {
  "user_name": {"method": "elicitation/create", "params": {"message": "What is your name?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}},
  "confirm": {"method": "elicitation/create", "params": {"message": "Please confirm", "requestedSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}}}, "step1": {"method": "elicitation/create", "params": {"message": "Step 1: What is your name?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}}, "step2": {"method": "elicitation/create", "params": {"message": "Step 2: What is your favorite color?", "requestedSchema": {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}}},
  "user_context": {"method": "elicitation/create", "params": {"message": "What context should the prompt use?", "requestedSchema": {"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]}}},
  "capital_question": {"method": "sampling/createMessage", "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "What is the capital of France?"}}], "maxTokens": 100}}, "greeting": {"method": "sampling/createMessage", "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "Generate a greeting"}}], "maxTokens": 50}}, "client_roots": {"method": "roots/list", "params": {}}},
"messages": {
  "test_simple_prompt": [{"role": "user", "content": {"type": "text", "text": "This is a simple prompt for testing."}}], "test_prompt_with_arguments": [{"role": "user", "content": {"type": "text", "text": "Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"}}],
  "test_prompt_with_embedded_resource": [ {"role": "user", "content": {"type": "resource", "resource": {"uri": "{resourceUri}", "mimeType": "text/plain", "text": "Embedded resource content for testing."}}}, {"role": "user", "content": {"type": "text", "text": "Please process the embedded resource above."}}], "test_prompt_with_image": [{"role": "user", "content": {"type": "image", "data": "PNG", "mimeType": "image/png"}}, {"role": "user", "content": {"type": "text", "text": "Please analyze the image above."}}], "test_input_required_result_prompt": [{"role": "user", "content": {"type": "text", "text": "The context is known."}}]},
"contents": [{"uri": "test://static-text", "mimeType": "text/plain", "text": "This is the content of the static text resource."}, {"uri": "test://static-binary", "mimeType": "image/png", "blob": "PNG"}, {"uri": "test://watched-resource", "mimeType": "text/plain", "text": "As always."}],
"prompts": [{"name": "test_simple_prompt", "description": "test simple prompt"}, {"name": "test_prompt_with_image", "description": "test prompt with image"}, {"name": "test_input_required_result_prompt", "description": "test input required result prompt"}, {"name": "test_prompt_with_arguments", "description": "test prompt with arguments", "arguments": [{"name": "arg1", "description": "arg1", "required": true}, {"name": "arg2", "description": "arg2", "required": true}]}, {"name": "test_prompt_with_embedded_resource", "description": "test prompt with embedded resource", "arguments": [{"name": "resourceUri", "description": "resourceUri", "required": true}]}],
"resources": [{"uri": "test://static-text", "name": "static-text", "mimeType": "text/plain"}, {"uri": "test://static-binary", "name": "static-binary", "mimeType": "image/png"}, {"uri": "test://watched-resource", "name": "watched-resource", "mimeType": "text/plain"}],
"templates": [{"uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json"}]
}"##;

/// A picture of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

type Run = fn(&Fixture, &Exchange, &Value) -> Answer;

/// The tools that do something.
const TOOLS: &[(&str, Run)] = &[
    ("test_tool_with_progress", progress),
    ("test_tool_with_logging", logging),
    ("test_logging_tool", logging),
    ("test_streaming_elicitation", streaming),
    ("test_sampling", sampled),
    ("test_elicitation", elicited),
    ("test_elicitation_sep1034_defaults", elicited),
    ("test_elicitation_sep1330_enums", elicited),
    ("test_missing_capability", lent),
    ("test_input_required_result_request_state", confirmed),
    ("test_input_required_result_tampered_state", confirmed),
    ("test_input_required_result_multiple_inputs", several),
    ("test_input_required_result_multi_round", two_rounds),
    ("test_input_required_result_capabilities", declared),
];

fn said(text: &str) -> Answer {
    Ok(json!({"content": [{"type": "text", "text": text}]}))
}

/// Between two messages of a stream, so that they come apart.
fn pause(exchange: &Exchange) {
    exchange.stop.sleep(Duration::from_millis(50));
}

fn progress(_: &Fixture, exchange: &Exchange, _: &Value) -> Answer {
    for done in [0, 50, 100] {
        exchange.step(done, 100);
        pause(exchange);
    }
    said("Progress was told.")
}

fn logging(_: &Fixture, exchange: &Exchange, _: &Value) -> Answer {
    for words in [
        "execution started",
        "processing data",
        "execution completed",
    ] {
        exchange.log("info", &format!("Tool {words}"));
        pause(exchange);
    }
    said("Logged.")
}

fn streaming(fixture: &Fixture, exchange: &Exchange, _: &Value) -> Answer {
    exchange.step(50, 100);
    needs(fixture, exchange, "confirm")
}

fn lent(_: &Fixture, exchange: &Exchange, _: &Value) -> Answer {
    can(exchange, "sampling")?;
    said("The client lends a model.")
}

/// # Errors
/// The client has not declared the capability.
fn can(exchange: &Exchange, capability: &str) -> Result<(), RpcError> {
    match exchange.capabilities.get(capability) {
        Some(_) => Ok(()),
        None => Err(
            RpcError::new(MISSING_CAPABILITY, "The client cannot do what this needs.")
                .with(json!({"requiredCapabilities": {capability: {}}})),
        ),
    }
}

/// What an answer has there, or null.
fn part<'a>(answer: &'a Value, pointer: &str) -> &'a Value {
    answer.pointer(pointer).unwrap_or(&Value::Null)
}

/// Asks for a model's answer.
fn sampled(fixture: &Fixture, exchange: &Exchange, arguments: &Value) -> Answer {
    can(exchange, "sampling")?;
    let mut question = fixture.question("greeting");
    let prompt = arguments.get("prompt").cloned().unwrap_or_default();
    if let Some(text) = question.pointer_mut("/params/messages/0/content/text") {
        *text = prompt;
    }
    let params = question.get("params").cloned().unwrap_or_default();
    let got = exchange.ask("sampling/createMessage", &params)?;
    said(&format!("LLM response: {}", part(&got, "/content/text")))
}

/// Has the form of the tool filled in.
fn elicited(fixture: &Fixture, exchange: &Exchange, arguments: &Value) -> Answer {
    can(exchange, "elicitation")?;
    let message = arguments.text("message").unwrap_or("Is this right?");
    let tool = exchange.tool.as_deref().unwrap_or_default();
    let properties = fixture.part("forms", tool).unwrap_or_default();
    let required: Vec<&String> = (properties.as_object().into_iter().flat_map(Map::keys)).collect();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let params = json!({"message": message, "requestedSchema": schema});
    let got = exchange.ask("elicitation/create", &params)?;
    let (action, content) = (part(&got, "/action"), part(&got, "/content"));
    said(&format!(
        "Elicitation completed: action={action}, content={content}"
    ))
}

/// The result that asks for more.
fn required(fixture: &Fixture, keys: &[&str], state: Option<&str>) -> Answer {
    let questions = keys
        .iter()
        .map(|key| ((*key).to_owned(), fixture.question(key)));
    let questions: Map<String, Value> = questions.collect();
    let mut result = json!({"resultType": "input_required", "inputRequests": questions});
    if let Some(state) = state {
        put(&mut result, "requestState", fixture.signed(state));
    }
    Ok(result)
}

/// What the client answered to `key`.
///
/// # Errors
/// That is no answer.
fn answer_to<'a>(exchange: &'a Exchange, key: &str) -> Result<Option<&'a Value>, RpcError> {
    match &exchange.responses {
        None => Ok(None),
        Some(Value::Object(all)) => match all.get(key) {
            None => Ok(None),
            Some(given) if given.is_object() => Ok(Some(given)),
            Some(_) => Err(invalid_params(format!(
                "params.inputResponses.{key} needs an object."
            ))),
        },
        Some(_) => Err(invalid_params("params.inputResponses needs an object.")),
    }
}

/// Asks under `key` unless that was answered, and says the answer.
fn needs(fixture: &Fixture, exchange: &Exchange, key: &str) -> Answer {
    match answer_to(exchange, key)? {
        Some(given) => said(&given.to_string()),
        None => required(fixture, &[key], None),
    }
}

/// A question whose answer counts only with the state that went with it.
fn confirmed(fixture: &Fixture, exchange: &Exchange, _: &Value) -> Answer {
    let state = fixture.checked(exchange)?;
    let given = answer_to(exchange, "confirm")?;
    match given.is_some() && state.is_some() {
        true => said("state-ok"),
        false => required(fixture, &["confirm"], Some("confirm")),
    }
}

/// Three questions at once.
fn several(fixture: &Fixture, exchange: &Exchange, _: &Value) -> Answer {
    let keys = ["user_name", "greeting", "client_roots"];
    let mut is_answered = fixture.checked(exchange)?.is_some();
    for key in keys {
        is_answered &= answer_to(exchange, key)?.is_some();
    }
    match is_answered {
        true => said("All is answered."),
        false => required(fixture, &keys, Some("all")),
    }
}

/// One question after the other.
fn two_rounds(fixture: &Fixture, exchange: &Exchange, _: &Value) -> Answer {
    match fixture.checked(exchange)?.as_deref() {
        Some("second") if answer_to(exchange, "step2")?.is_some() => said("Both are answered."),
        Some("first") if answer_to(exchange, "step1")?.is_none() => {
            required(fixture, &["step1"], Some("first"))
        }
        Some(_) => required(fixture, &["step2"], Some("second")),
        None => required(fixture, &["step1"], Some("first")),
    }
}

/// As much as the client can answer.
fn declared(fixture: &Fixture, exchange: &Exchange, _: &Value) -> Answer {
    let all = [
        ("sampling", "greeting"),
        ("elicitation", "confirm"),
        ("roots", "client_roots"),
    ];
    let asked = all
        .iter()
        .filter(|(capability, _)| can(exchange, capability).is_ok());
    let keys: Vec<&str> = asked.map(|(_, key)| *key).collect();
    match keys.is_empty() || exchange.responses.is_some() {
        true => said("Nothing is asked."),
        false => required(fixture, &keys, None),
    }
}

/// The offering.
pub(crate) struct Fixture {
    /// [`DATA`].
    data: Value,
    key: hmac::Key,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let data = DATA.replace("\"PNG\"", &format!("\"{PNG}\""));
        Self {
            data: serde_json::from_str(&data).unwrap_or_default(),
            key: hmac::Key::new(hmac::HMAC_SHA256, ids::hex(32).as_bytes()),
        }
    }

    fn list(&self, name: &str) -> Vec<Value> {
        self.data.list(name).to_vec()
    }

    fn part(&self, list: &str, name: &str) -> Option<Value> {
        self.data.get(list)?.get(name).cloned()
    }

    fn question(&self, key: &str) -> Value {
        self.part("questions", key).unwrap_or_default()
    }

    fn schema(&self, tool: &str) -> Value {
        let schema = self.part("schemas", tool);
        schema.unwrap_or_else(|| json!({"type": "object", "properties": {}}))
    }

    /// A state that no client can change.
    fn signed(&self, state: &str) -> String {
        let tag = hmac::sign(&self.key, state.as_bytes());
        format!("{state}.{}", URL_SAFE_NO_PAD.encode(tag))
    }

    /// The state that the client gave back.
    ///
    /// # Errors
    /// It is none of ours.
    fn checked(&self, exchange: &Exchange) -> Result<Option<String>, RpcError> {
        let Some(given) = &exchange.state else {
            return Ok(None);
        };
        let is_ours = |(state, tag): &(&str, &str)| {
            let tag = URL_SAFE_NO_PAD.decode(tag).unwrap_or_default();
            hmac::verify(&self.key, state.as_bytes(), &tag).is_ok()
        };
        match given.rsplit_once('.').filter(is_ours) {
            Some((state, _)) => Ok(Some(state.to_owned())),
            None => Err(invalid_params("params.requestState was changed.")),
        }
    }
}

impl Offering for Fixture {
    fn about(&self) -> Value {
        json!({"name": "marvin-mcp-fixture", "title": "Fixture", "version": env!("CARGO_PKG_VERSION")})
    }

    fn instructions(&self) -> &'static str {
        "Diagnostic tools of the conformance suite."
    }

    fn capabilities(&self) -> Value {
        json!({"tools": {}, "prompts": {}, "resources": {"subscribe": true, "listChanged": true}, "completions": {}})
    }

    fn tools(&self) -> Vec<Value> {
        let of = |list: &str| self.data.get(list).and_then(Value::as_object);
        let fixed = [of("results"), of("asks")]
            .into_iter()
            .flatten()
            .flat_map(Map::keys);
        let fixed = fixed.map(String::as_str);
        let names = fixed.chain(TOOLS.iter().map(|(name, _)| *name));
        let listed = |name: &str| json!({"name": name, "description": name.replace('_', " "), "inputSchema": self.schema(name)});
        names.map(listed).collect()
    }

    fn call(&self, exchange: &Exchange, tool: &str, arguments: Map<String, Value>) -> Answer {
        if let Some(key) = self.part("asks", tool) {
            return needs(self, exchange, key.as_str().unwrap_or_default());
        }
        let own = TOOLS.iter().find(|(name, _)| *name == tool);
        match (self.part("results", tool), own) {
            (Some(result), _) => Ok(result),
            (None, Some((_, run))) => run(self, exchange, &Value::Object(arguments)),
            (None, None) => Err(invalid_params("Unknown tool.")),
        }
    }

    fn marked_schema(&self, tool: &str) -> Option<Value> {
        (tool == "test_header_marks").then(|| self.schema(tool))
    }

    fn prompts(&self) -> Vec<Value> {
        self.list("prompts")
    }

    fn prompt(&self, exchange: &Exchange, name: &str, arguments: &Value) -> Answer {
        let Some(messages) = self.part("messages", name) else {
            return Err(invalid_params("There is no such prompt."));
        };
        if name.contains("input_required") && answer_to(exchange, "user_context")?.is_none() {
            return required(self, &["user_context"], None);
        }
        let mut filled = messages.to_string();
        for argument in ["arg1", "arg2", "resourceUri"] {
            let slot = format!("{{{argument}}}");
            if filled.contains(&slot) {
                let text = arguments.text(argument);
                let text = text.ok_or_else(|| invalid_params(format!("{argument} is missing.")))?;
                let text = Value::from(text).to_string();
                filled = filled.replace(&slot, text.trim_matches('"'));
            }
        }
        let messages: Value = serde_json::from_str(&filled).unwrap_or(messages);
        Ok(json!({ "messages": messages }))
    }

    fn complete_prompt(&self, _: &str, _: &str, value: &str) -> Result<Vec<String>, RpcError> {
        let words = ["paris", "park", "party", "test"].into_iter();
        let words = words.filter(|word| word.starts_with(value));
        Ok(words.map(str::to_owned).collect())
    }

    fn resources(&self) -> Vec<Value> {
        self.list("resources")
    }

    fn templates(&self) -> Vec<Value> {
        self.list("templates")
    }

    fn read(&self, uri: &str) -> Answer {
        let id = uri.strip_prefix("test://template/");
        let of_template = id.and_then(|rest| rest.strip_suffix("/data")).map(|id| {
            let words = format!("Data for ID: {id}");
            let text = json!({"id": id, "templateTest": true, "data": words}).to_string();
            json!({"uri": uri, "mimeType": "application/json", "text": text})
        });
        let mut fixed = self.list("contents").into_iter();
        let found = of_template.or_else(|| fixed.find(|content| content["uri"] == uri));
        let found = found.ok_or_else(|| no_resource(uri))?;
        Ok(json!({"contents": [found]}))
    }

    fn complete(&self, _: &str, _: &str, _: &str) -> Result<Vec<String>, RpcError> {
        Ok(Vec::new())
    }
}
