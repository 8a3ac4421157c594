//! The tools of a reply: those that the session allows, and the two of the flow itself.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::aliases;
use crate::base::embedding::Embedding;
use crate::base::params::Type;
use crate::base::problem::Outcome;
use crate::base::text::clip;
use crate::llm::provider::{Offer, Offered, Phrases};
use crate::tools::engine::context::SessionContext;
use crate::tools::engine::owned_tool::ToolRef;
use crate::tools::engine::tool_ranking::ToolIndex;

/// Ends the conversation.
pub(crate) const STOP: &str = "stop";
pub(crate) use crate::chat::found_tools::TOOL_SEARCH;
/// The forecast takes the name of a place here, and the user's own place without any.
pub(crate) const WEATHER: &str = "weather_forecast";

const STOP_ABOUT: &str =
    "End the conversation without an answer: the user said goodbye, or was not talking to you.";
const TOOL_SEARCH_ABOUT: &str =
    "Find further tools by what they should do, when none of the listed ones fits.";
const WEATHER_SCHEMA: &str = r#"{"type":"object","properties":{"location":{"type":"string","description":"name of a place; leave out for where the user is"},"latitude":{"type":"number","description":"latitude"},"longitude":{"type":"number","description":"longitude"},"days":{"type":"integer","description":"forecast days, 1 to 7"}}}"#;
const QUERY_SCHEMA: &str = r#"{"type":"object","properties":{"query":{"type":"string","description":"what the tool should do"}},"required":["query"]}"#;
const EMPTY_SCHEMA: &str = r#"{"type":"object","properties":{}}"#;

/// The tools that this session allows, in the order of the registry. [`STOP`] and [`TOOL_SEARCH`] are not among them.
#[derive(Debug)]
pub(crate) struct Catalogue {
    tools: Vec<ToolRef>,
    /// What the tools are about, once it was asked for.
    vectors: OnceLock<Vec<Embedding>>,
    /// Their words, likewise.
    words: OnceLock<ToolIndex>,
}

/// A parameter of a tool as the flow shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolInput {
    pub name: String,
    /// The JSON type.
    pub kind: &'static str,
    pub is_required: bool,
}

impl Catalogue {
    pub(crate) fn new(session: &SessionContext) -> Self {
        Self {
            tools: session.registry().allowed(&session.policy),
            vectors: OnceLock::new(),
            words: OnceLock::new(),
        }
    }

    /// The tools that fit `query` by their words, the best first, at most `most`.
    pub(crate) fn rank(&self, query: &str, most: usize) -> Vec<&str> {
        let words = self.words.get_or_init(|| ToolIndex::new(&self.tools));
        words.rank(query, most)
    }

    /// The vectors of the tools, in their order; `make` is called for the first time only, and again after it failed.
    ///
    /// # Errors
    /// What `make` says.
    pub(crate) fn vectors(
        &self,
        make: impl FnOnce() -> Outcome<Vec<Embedding>>,
    ) -> Outcome<&[Embedding]> {
        if let Some(vectors) = self.vectors.get() {
            return Ok(vectors);
        }
        let made = make()?;
        Ok(self.vectors.get_or_init(|| made))
    }

    pub(crate) fn len(&self) -> usize {
        self.tools.len()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(ToolRef::name)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&ToolRef> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// The name of the tool that a model means by `name`: its own, or one that other programs use, or one that differs in case, `_` and `-` alone.
    pub(crate) fn canonical(&self, name: &str) -> Option<String> {
        aliases::canonical(name, |name| self.find(name).is_some(), || self.names())
    }

    /// The names of built-in tools and of those registered at run time, each sorted and separated by commas: what the picks of the router depend on.
    pub(crate) fn fingerprint(&self) -> String {
        let names = |is_built_in: bool| {
            let of_kind = self
                .tools
                .iter()
                .filter(|tool| matches!(tool, ToolRef::BuiltIn(_)) == is_built_in);
            let mut names: Vec<&str> = of_kind.map(ToolRef::name).collect();
            names.sort_unstable();
            names.join(",")
        };
        format!("{}|{}", names(true), names(false))
    }

    /// The first line of what a tool does.
    pub(crate) fn about(&self, name: &str) -> &str {
        match name {
            STOP => STOP_ABOUT,
            TOOL_SEARCH => TOOL_SEARCH_ABOUT,
            _ => self.find(name).map_or("", first_line),
        }
    }

    /// `name: description` of every tool, one a line, with at most `chars` characters of the description.
    pub(crate) fn list(&self, chars: usize) -> String {
        let mut list = String::new();
        for tool in &self.tools {
            if !list.is_empty() {
                list.push('\n');
            }
            list.push_str(tool.name());
            list.push_str(": ");
            let about = first_line(tool);
            if about.len() <= chars {
                list.push_str(about);
            } else {
                list.push_str(&clip(about, chars));
            }
        }
        list
    }

    /// Whether these are the tools of `other`, in the same order.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        let pairs = self.tools.iter().zip(&other.tools);
        self.len() == other.len() && pairs.into_iter().all(|(one, other)| one.is_same_as(other))
    }

    /// The parameters of a tool, in published order; none for an unknown one.
    pub(crate) fn inputs(&self, name: &str) -> Vec<ToolInput> {
        let input = |name: &str, kind, is_required| ToolInput {
            name: name.to_owned(),
            kind,
            is_required,
        };
        match (name, self.find(name)) {
            (TOOL_SEARCH, _) => vec![input("query", "string", true)],
            (WEATHER, Some(_)) => vec![
                input("location", "string", false),
                input("latitude", "number", false),
                input("longitude", "number", false),
                input("days", "integer", false),
            ],
            (_, Some(tool)) => tool
                .parameters()
                .iter()
                .map(|one| input(&one.name, json_type(one.kind), one.required))
                .collect(),
            (_, None) => Vec::new(),
        }
    }

    /// The arguments of a correct call.
    pub(crate) fn example(&self, name: &str) -> Value {
        match (name, self.find(name)) {
            (TOOL_SEARCH, _) => json!({"query": "weather"}),
            (WEATHER, Some(_)) => json!({"location": "Porto"}),
            // A small model copies a placeholder as it is.
            (_, Some(tool)) => {
                serde_json::from_str(&tool.example_call().replace('…', "Porto")).unwrap_or_default()
            }
            (_, None) => json!({}),
        }
    }

    /// A tool for a model that writes its calls as text: `name: description`, and below it the parameters, if there are any.
    pub(crate) fn entry(&self, name: &str) -> String {
        let about = self.about(name);
        let inputs: Vec<String> = self
            .inputs(name)
            .iter()
            .map(|input| {
                let required = if input.is_required { " (required)" } else { "" };
                format!("{}: {}{required}", input.name, input.kind)
            })
            .collect();
        if inputs.is_empty() {
            return format!("{name}: {about}");
        }
        format!("{name}: {about}\n  Input: {}", inputs.join(", "))
    }

    /// The named tools as native ones, in that order, at most `max`: providers limit their number. Where that is too many, the last ones before the
    /// flow's own are left out.
    pub(crate) fn offer<'n>(&self, names: impl IntoIterator<Item = &'n str>, max: usize) -> Offer {
        let (own, others): (Vec<&str>, Vec<&str>) = names
            .into_iter()
            .partition(|name| matches!(*name, STOP | TOOL_SEARCH));
        let room = max.saturating_sub(own.len());
        let others = others.into_iter().filter_map(|name| {
            let tool = self.find(name)?.offered();
            Some(if name == WEATHER {
                Offered {
                    params_json: WEATHER_SCHEMA.into(),
                    ..tool
                }
            } else {
                tool
            })
        });
        let own = own.into_iter().map(|name| match name {
            STOP => engine_tool(STOP, STOP_ABOUT, EMPTY_SCHEMA),
            _ => engine_tool(TOOL_SEARCH, TOOL_SEARCH_ABOUT, QUERY_SCHEMA),
        });
        Offer::new(others.take(room).chain(own).collect())
    }
}

fn first_line(tool: &ToolRef) -> &str {
    let about = tool.about().trim();
    about.lines().next().unwrap_or_default().trim_end()
}

fn engine_tool(name: &'static str, about: &'static str, schema: &'static str) -> Offered {
    Offered {
        name: name.into(),
        about_json: Cow::Owned(Value::from(about).to_string()),
        params_json: schema.into(),
        phrases: Phrases::BuiltIn(&[]),
    }
}

const fn json_type(kind: Type) -> &'static str {
    match kind {
        Type::Text | Type::Choice(_) => "string",
        Type::Whole => "integer",
        Type::Number => "number",
        Type::Flag => "boolean",
        Type::List(_) => "array",
        Type::Object => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::testing::catalogue;
    use serde_json::Value;

    #[test]
    fn the_catalogue_is_what_the_policy_allows() {
        let all = catalogue(None);
        assert!(all.len() > 100);
        assert!(all.names().all(|name| name != STOP && name != TOOL_SEARCH));
        let git = catalogue(Some(vec!["git"]));
        assert!(git.len() < 30 && git.names().all(|name| name.starts_with("git_")));
        assert_ne!(all.fingerprint(), git.fingerprint());
        assert!(git.fingerprint().ends_with('|'));
        assert_eq!(catalogue(Some(Vec::new())).len(), 0);
    }

    #[test]
    fn a_tool_is_shown_with_its_parameters() {
        let all = catalogue(None);
        let entry = all.entry("convert_units");
        assert!(entry.starts_with("convert_units: "), "{entry}");
        assert!(
            entry.ends_with("\n  Input: value: number (required), from_unit: string (required), to_unit: string (required)"),
            "{entry}"
        );
        assert_eq!(all.entry(STOP), format!("stop: {STOP_ABOUT}"));
        assert!(
            all.entry(TOOL_SEARCH)
                .ends_with("Input: query: string (required)")
        );
        assert!(all.entry(WEATHER).ends_with(
            "Input: location: string, latitude: number, longitude: number, days: integer"
        ));
        assert!(all.list(10).lines().all(|line| {
            let (name, about) = line.split_once(": ").unwrap();
            all.find(name).is_some() && about.chars().count() <= 11
        }));
    }

    #[test]
    fn names_are_understood_in_other_spellings() {
        let all = catalogue(None);
        for (name, want) in [
            ("read_note", Some("read_note")),
            ("webSearch", Some("web_search")),
            ("getWeather", Some(WEATHER)),
            ("Convert-Units", Some("convert_units")),
            ("stop", None),
            ("screenshot", None),
        ] {
            assert_eq!(all.canonical(name).as_deref(), want, "{name}");
        }
    }

    #[test]
    fn an_offer_keeps_the_order_and_the_tools_of_the_flow() {
        let all = catalogue(None);
        let names = |offer: &Offer| -> Vec<String> {
            offer
                .tools
                .iter()
                .map(|tool| tool.name.to_string())
                .collect()
        };
        let wanted = ["read_note", WEATHER, "no_such_tool", STOP, TOOL_SEARCH];
        let offer = all.offer(wanted, 128);
        assert_eq!(names(&offer), ["read_note", WEATHER, STOP, TOOL_SEARCH]);
        for tool in &offer.tools {
            let schema: Value = serde_json::from_str(&tool.params_json).unwrap();
            assert_eq!(schema["type"], "object", "{}", tool.name);
            assert!(serde_json::from_str::<String>(&tool.about_json).is_ok());
        }
        assert_eq!(
            names(&all.offer(wanted, 3)),
            ["read_note", STOP, TOOL_SEARCH]
        );
    }
}
