//! Tools registered at run time, and a reference to a tool of either kind.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::arguments::{ParsedArguments, parse_arguments, parse_owned_arguments};
use super::context::ToolContext;
use super::parameter::{self, Parameter};
use super::result::ToolOk;
use super::rules::Rules;
use super::tool::Tool;
use crate::base::params::example_call;
use crate::base::problem::Outcome;
use crate::llm::provider::{Offered, Phrases};

/// The name under which a tool that takes any arguments gets the text of those that are no object: one that no schema has.
pub(crate) const NO_OBJECT: &str = "\0";

/// The function of a registered tool.
pub(crate) type OwnedRun =
    Box<dyn Fn(&ToolContext, &Map<String, Value>) -> Outcome<ToolOk> + Send + Sync>;

/// A tool registered at run time: of an MCP server, or a sub-agent.
pub struct OwnedTool {
    /// Name that models call.
    pub name: String,
    /// Where it comes from; the policy treats this as a group.
    pub module: String,
    /// One sentence.
    pub summary: String,
    /// JSON Schema of its parameters, in the form that every provider accepts (see [`object_schema`](crate::llm::provider::object_schema)).
    pub schema: Box<RawValue>,
    /// Side effect, limits.
    pub rules: Rules,
    /// Phrases that call it without a model, as in [`Tool::phrases`].
    pub phrases: Arc<[String]>,
    pub run: OwnedRun,
}

impl fmt::Debug for OwnedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedTool")
            .field("name", &self.name)
            .field("module", &self.module)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

/// A tool of either kind. Cheap to clone.
#[derive(Debug, Clone)]
pub enum ToolRef {
    /// A row of the table.
    BuiltIn(&'static Tool),
    /// Registered at run time.
    Owned(Arc<OwnedTool>),
}

impl ToolRef {
    /// Name that models call.
    pub fn name(&self) -> &str {
        match self {
            Self::BuiltIn(tool) => tool.name,
            Self::Owned(tool) => &tool.name,
        }
    }

    /// Whether both are the same row or registration.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::BuiltIn(one), Self::BuiltIn(other)) => std::ptr::eq(*one, *other),
            (Self::Owned(one), Self::Owned(other)) => Arc::ptr_eq(one, other),
            (Self::BuiltIn(_), Self::Owned(_)) | (Self::Owned(_), Self::BuiltIn(_)) => false,
        }
    }

    /// Where it comes from: the name that `--tools` takes.
    pub(crate) fn module(&self) -> &str {
        match self {
            Self::BuiltIn(tool) => tool.module,
            Self::Owned(tool) => &tool.module,
        }
    }

    /// One sentence.
    pub(crate) fn about(&self) -> &str {
        match self {
            Self::BuiltIn(tool) => tool.summary,
            Self::Owned(tool) => &tool.summary,
        }
    }

    /// JSON Schema of the parameters that it always has.
    pub(crate) fn schema(&self) -> Cow<'_, str> {
        match self {
            Self::BuiltIn(tool) if tool.rules.attended.is_empty() => tool.schema.into(),
            Self::BuiltIn(tool) => without(tool.schema, tool.rules.attended).into(),
            Self::Owned(tool) => tool.schema.get().into(),
        }
    }

    /// Its parameters, in published order.
    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        match self {
            Self::BuiltIn(tool) => tool.fields().iter().map(Parameter::from).collect(),
            Self::Owned(tool) => parameter::of_schema(tool.schema.get()),
        }
    }

    /// The arguments of a correct call, as an example.
    pub(crate) fn example_call(&self) -> String {
        match self {
            Self::BuiltIn(tool) => example_call(&tool.fields()),
            Self::Owned(_) => parameter::example_call(&self.parameters()),
        }
    }

    /// True when it also accepts one text instead of named parameters.
    pub(crate) fn is_freeform(&self) -> bool {
        matches!(self, Self::BuiltIn(tool) if tool.freeform.is_some())
    }

    /// Parses the arguments that a model wrote for a call.
    ///
    /// # Errors
    /// They are no object, nor what else the tool takes.
    pub(crate) fn parse_arguments(&self, raw: &str) -> Outcome<ParsedArguments> {
        match self {
            Self::BuiltIn(tool) => parse_arguments(tool, raw),
            Self::Owned(tool) => match parse_owned_arguments(&tool.name, raw) {
                Err(_) if tool.rules.takes_any_arguments => Ok(ParsedArguments::Named(
                    Map::from_iter([(NO_OBJECT.to_owned(), Value::from(raw))]),
                )),
                parsed => parsed,
            },
        }
    }

    /// Side effect, limits.
    pub fn rules(&self) -> &Rules {
        match self {
            Self::BuiltIn(tool) => &tool.rules,
            Self::Owned(tool) => &tool.rules,
        }
    }

    /// The tool as it is offered to a model where somebody can be asked about leaving the sandbox, or not.
    pub(crate) fn offered_where(&self, can_leave_sandbox: bool) -> Offered {
        let mut offered = self.offered();
        if let Self::BuiltIn(tool) = self
            && can_leave_sandbox
        {
            offered.params_json = tool.schema.into();
        }
        offered
    }

    /// The tool as it is offered to a model, without copying anything of a built-in one.
    pub(crate) fn offered(&self) -> Offered {
        match self {
            Self::BuiltIn(tool) => Offered {
                name: tool.name.into(),
                about_json: tool.summary_json.into(),
                params_json: match tool.rules.attended {
                    [] => tool.schema.into(),
                    names => without(tool.schema, names).into(),
                },
                phrases: Phrases::BuiltIn(tool.phrases),
            },
            Self::Owned(tool) => Offered {
                name: tool.name.clone().into(),
                about_json: Value::from(tool.summary.as_str()).to_string().into(),
                params_json: tool.schema.get().to_owned().into(),
                phrases: Phrases::Owned(Arc::clone(&tool.phrases)),
            },
        }
    }
}

/// A schema without some of its properties, none of which is required.
fn without(schema: &str, names: &[&str]) -> String {
    let mut schema: Value = serde_json::from_str(schema).unwrap_or_default();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.retain(|name, _| !names.contains(&name.as_str()));
    }
    schema.to_string()
}
