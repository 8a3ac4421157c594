//! The tools that a reply may call, and what a model means by the names it writes.

use serde_json::{Map, Value};

use super::call::WrittenCall;

/// Names that other assistants taught their models.
const NAMES: [(&str, &str); 6] = [
    ("webSearch", "web_search"),
    ("getWeather", "weather_forecast"),
    ("fetchWebPage", "browse_web"),
    ("fetch_web_page", "browse_web"),
    ("toolSearchTool", "tool_search"),
    ("stop", "stop"),
];

/// A tool with an operation as argument, which is several tools here.
const FILES: &str = "localFiles";
const FILE_OPERATIONS: [(&str, &str); 8] = [
    ("read", "read_note"),
    ("open", "read_note"),
    ("write", "write_note"),
    ("create", "write_note"),
    ("append", "write_note"),
    ("save", "write_note"),
    ("list", "notes_ls"),
    ("ls", "notes_ls"),
];

/// Other names of arguments, for the tools that have the second one.
const ARGUMENTS: [(&str, &str); 2] = [("search_query", "query"), ("q", "query")];

/// The type of a parameter, as far as text can be converted to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueType {
    Text,
    Integer,
    Number,
    Boolean,
    Other,
}

impl ValueType {
    /// By its name in JSON Schema.
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "string" => Self::Text,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => Self::Other,
        }
    }

    /// `text` as a value of the type, or as text when it is none.
    pub(crate) fn convert(self, text: &str) -> Value {
        let converted = match self {
            Self::Integer => text.parse::<i64>().ok().map(Value::from),
            // Infinity and NaN become null.
            Self::Number => text
                .parse::<i64>()
                .ok()
                .map(Value::from)
                .or_else(|| text.parse::<f64>().ok().map(Value::from))
                .filter(Value::is_number),
            Self::Boolean if text.eq_ignore_ascii_case("true") => Some(Value::from(true)),
            Self::Boolean if text.eq_ignore_ascii_case("false") => Some(Value::from(false)),
            _ => None,
        };
        converted.unwrap_or_else(|| Value::from(text))
    }
}

/// A tool, as far as a call that is written as text must fit it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownTool {
    pub name: String,
    /// Its parameters in published order; `None` when they are not known, so that every argument is kept.
    pub parameters: Option<Vec<(String, ValueType)>>,
    /// The parameter that a bare text is meant for.
    pub first_text: Option<String>,
}

/// The tools that a reply may call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownTools {
    tools: Vec<KnownTool>,
}

impl KnownTools {
    pub(crate) fn new(tools: Vec<KnownTool>) -> Self {
        Self { tools }
    }

    /// Only names.
    pub fn of_names<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        let named = |name: S| KnownTool {
            name: name.into(),
            parameters: None,
            first_text: None,
        };
        Self::new(names.into_iter().map(named).collect())
    }

    /// From `{"tool": {"property": "type"}}`; every text counts as required.
    pub(crate) fn of_json(schema: &Map<String, Value>) -> Self {
        let tool = |(name, properties): (&String, &Value)| {
            let properties = properties.as_object().into_iter().flatten();
            let parameters: Vec<(String, ValueType)> = properties
                .map(|(key, kind)| {
                    (
                        key.clone(),
                        ValueType::of(kind.as_str().unwrap_or_default()),
                    )
                })
                .collect();
            let mut texts = parameters
                .iter()
                .filter(|(_, kind)| *kind == ValueType::Text);
            KnownTool {
                name: name.clone(),
                first_text: texts.next().map(|(key, _)| key.clone()),
                parameters: Some(parameters),
            }
        };
        Self::new(schema.iter().map(tool).collect())
    }

    pub(crate) fn find(&self, name: &str) -> Option<&KnownTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name.as_str())
    }

    /// True when `name` is exactly that of a tool.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The tool that a model means by `name`.
    pub(crate) fn meant(&self, name: &str) -> Option<&KnownTool> {
        self.find(&self.canonical(name)?)
    }

    /// The name of the tool that a model means by `name`.
    pub(crate) fn canonical(&self, name: &str) -> Option<String> {
        canonical(name, |name| self.has(name), || self.names())
    }

    /// A call as the tools know it; with the model's own name where no tool has it.
    pub(crate) fn call(&self, name: &str, args: Map<String, Value>) -> WrittenCall {
        let wanted = file_operation(name, &args).unwrap_or(name);
        match self.meant(wanted) {
            Some(tool) => WrittenCall {
                name: tool.name.clone(),
                args: tool.arguments(args),
            },
            None => WrittenCall {
                name: name.trim().to_owned(),
                args,
            },
        }
    }

    /// Removes the arguments that a tool does not have. One that declares none keeps all.
    pub(crate) fn keep_known(&self, name: &str, args: &mut Map<String, Value>) {
        let parameters = self.meant(name).and_then(|tool| tool.parameters.as_deref());
        if let Some(parameters) = parameters.filter(|parameters| !parameters.is_empty()) {
            args.retain(|key, _| parameters.iter().any(|(name, _)| name == key));
        }
    }
}

impl KnownTool {
    /// Arguments from text; `None` when the tool does not have one of them.
    pub(crate) fn typed(&self, pairs: &[(String, String)]) -> Option<Map<String, Value>> {
        let mut args = Map::new();
        for (key, value) in pairs {
            let (key, value) = match (&self.parameters, self.parameter(key)) {
                (None, _) => (key.as_str(), Value::from(value.as_str())),
                (Some(_), Some((name, kind))) => (name, kind.convert(value)),
                (Some(_), None) => return None,
            };
            if !args.contains_key(key) {
                args.insert(key.to_owned(), value);
            }
        }
        Some(args)
    }

    /// The parameter that a model means by `key`.
    pub(crate) fn parameter(&self, key: &str) -> Option<(&str, ValueType)> {
        let parameters = self.parameters.as_deref()?;
        let named = |key: &str| {
            let found = parameters.iter().find(|(name, _)| name == key);
            found.map(|(name, kind)| (name.as_str(), *kind))
        };
        let alias = || {
            let mut targets = ARGUMENTS.iter().filter(|(alias, _)| *alias == key);
            targets.find_map(|(_, target)| named(target))
        };
        let alike = || {
            let plain = plain(key);
            let mut alike = parameters
                .iter()
                .filter(|(name, _)| self::plain(name) == plain);
            let (name, kind) = alike.next()?;
            alike.next().is_none().then_some((name.as_str(), *kind))
        };
        named(key).or_else(alias).or_else(alike)
    }

    /// `args` with the tool's own keys. A key that means a parameter which is given already stays as it is.
    fn arguments(&self, args: Map<String, Value>) -> Map<String, Value> {
        let mut renamed = Map::new();
        for (key, value) in &args {
            let own = self.parameter(key).map_or(key.as_str(), |(name, _)| name);
            let is_free = own == key || !args.contains_key(own) && !renamed.contains_key(own);
            renamed.insert(if is_free { own } else { key }.to_owned(), value.clone());
        }
        renamed
    }
}

fn file_operation(name: &str, args: &Map<String, Value>) -> Option<&'static str> {
    if plain(name) != plain(FILES) {
        return None;
    }
    let operation = ["operation", "op", "action"]
        .iter()
        .find_map(|key| args.get(*key)?.as_str())?;
    let mut known = FILE_OPERATIONS.iter();
    known
        .find(|(word, _)| operation.eq_ignore_ascii_case(word))
        .map(|(_, tool)| *tool)
}

/// The name that a model means: as it is; by an alias; in another spelling (`WebSearch`, `web-search`), if only one tool is spelled like it; without the
/// namespace that some models put before it.
pub(crate) fn canonical<'a, I: Iterator<Item = &'a str>>(
    name: &str,
    is_known: impl Fn(&str) -> bool,
    names: impl Fn() -> I,
) -> Option<String> {
    let trimmed = name.trim();
    let last = trimmed.rsplit(['.', ':', '/']).next().unwrap_or_default();
    [trimmed, last].into_iter().find_map(|name| {
        if name.is_empty() {
            return None;
        }
        if is_known(name) {
            return Some(name.to_owned());
        }
        let alias = NAMES.iter().find(|(alias, _)| *alias == name);
        if let Some((_, target)) = alias.filter(|(_, target)| is_known(target)) {
            return Some((*target).to_owned());
        }
        let wanted = plain(name);
        let mut alike = names().filter(|name| plain(name) == wanted);
        let first = alike.next();
        if let Some(first) = first.filter(|_| alike.next().is_none()) {
            return Some(first.to_owned());
        }
        let alias = NAMES.iter().find(|(alias, _)| plain(alias) == wanted);
        alias
            .filter(|(_, target)| is_known(target))
            .map(|(_, target)| (*target).to_owned())
    })
}

fn plain(name: &str) -> String {
    // Longer than any name; the rest is text that a model wrote in its place.
    let chars = name.chars().take(128).filter(|c| *c != '_' && *c != '-');
    chars.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tools() -> KnownTools {
        let schema = json!({
            "web_search": {"query": "string", "max_results": "integer"},
            "browse_web": {"url": "string"},
            "weather_forecast": {"location": "string", "days": "integer"},
            "read_note": {"path": "string"},
            "lamp__turn_on": {},
            "lamp_turnon": {},
        });
        KnownTools::of_json(schema.as_object().unwrap())
    }

    #[test]
    fn names_are_understood_when_only_one_tool_can_be_meant() {
        let tools = tools();
        for (name, want) in [
            ("web_search", Some("web_search")),
            ("webSearch", Some("web_search")),
            ("WEBSEARCH", Some("web_search")),
            ("web-search", Some("web_search")),
            (" functions.web_search ", Some("web_search")),
            ("getWeather", Some("weather_forecast")),
            ("get_weather", Some("weather_forecast")),
            ("fetch_web_page", Some("browse_web")),
            ("lamp__turn_on", Some("lamp__turn_on")),
            ("lampTurnOn", None),
            ("toolSearchTool", None),
            ("screenshot", None),
            ("", None),
            (".", None),
        ] {
            assert_eq!(
                tools.meant(name).map(|tool| tool.name.as_str()),
                want,
                "{name}"
            );
        }
    }

    #[test]
    fn arguments_are_renamed_when_the_tool_has_the_other_name_only() {
        let tools = tools();
        for (name, args, wanted_name, wanted_args) in [
            (
                "webSearch",
                json!({"search_query": "a"}),
                "web_search",
                json!({"query": "a"}),
            ),
            (
                "web_search",
                json!({"q": "a", "maxResults": 3}),
                "web_search",
                json!({"query": "a", "max_results": 3}),
            ),
            (
                "web_search",
                json!({"q": "a", "query": "b"}),
                "web_search",
                json!({"q": "a", "query": "b"}),
            ),
            (
                "localFiles",
                json!({"operation": "read", "path": "a"}),
                "read_note",
                json!({"operation": "read", "path": "a"}),
            ),
            (
                "localFiles",
                json!({"operation": "shred"}),
                "localFiles",
                json!({"operation": "shred"}),
            ),
            (" logMeal ", json!({}), "logMeal", json!({})),
        ] {
            let Value::Object(args) = args else {
                panic!("no object")
            };
            let call = tools.call(name, args);
            assert_eq!(
                (call.name.as_str(), Value::Object(call.args)),
                (wanted_name, wanted_args)
            );
        }
    }

    #[test]
    fn only_arguments_that_a_tool_has_are_kept() {
        let tools = tools();
        let args = json!({"query": "a", "colour": "red"});
        for (name, left) in [("web_search", 1), ("lamp_turnon", 2), ("unknown", 2)] {
            let mut args = args.as_object().unwrap().clone();
            tools.keep_known(name, &mut args);
            assert_eq!(args.len(), left, "{name}");
        }
    }

    #[test]
    fn values_are_converted_where_they_can_be() {
        for (kind, text, want) in [
            ("integer", "3", json!(3)),
            ("integer", "3.5", json!("3.5")),
            ("number", "3.5", json!(3.5)),
            ("number", "3", json!(3)),
            ("number", "inf", json!("inf")),
            ("boolean", "True", json!(true)),
            ("boolean", "yes", json!("yes")),
            ("string", "3", json!("3")),
            ("array", "3", json!("3")),
        ] {
            assert_eq!(ValueType::of(kind).convert(text), want, "{kind} {text}");
        }
    }
}
