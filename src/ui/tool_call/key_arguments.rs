//! What the line of a call says of its arguments: the required ones, and what else was given, on one line.

use serde_json::Value;

use crate::base::params::Type;
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{clip, head};
use crate::chat::message::ToolCall;
use crate::tools::engine::arguments::ParsedArguments;
use crate::tools::engine::parameter::Parameter;
use crate::tools::engine::registry::Registry;
use crate::ui::text::clean::clean_line;

/// Maximum bytes of arguments that are parsed.
const MAX_ARGS_BYTES: usize = 8 << 20;
/// Maximum characters of each argument that are kept: the line shows what it has room for, the unfolded call all of them.
const MAX_ARG_CHARS: usize = 4_000;

/// The key arguments of `call`: the required ones first, then the other ones that were given.
pub(super) fn of(call: &ToolCall, registry: &Registry) -> String {
    Arguments::of(call, registry).key_arguments()
}

/// The arguments of a call, parsed as the tool itself parses them.
struct Arguments<'a> {
    call: &'a ToolCall,
    parameters: Vec<Parameter>,
    /// Those that the result's display will show.
    displayed: &'static [&'static str],
    args: Option<ParsedArguments>,
}

impl<'a> Arguments<'a> {
    fn of(call: &'a ToolCall, registry: &Registry) -> Self {
        let tool = registry.find(&call.name);
        let args = if call.args.len() > MAX_ARGS_BYTES {
            None
        } else if let Some(tool) = &tool {
            tool.parse_arguments(&call.args).ok()
        } else {
            serde_json::from_str(&call.args)
                .ok()
                .map(ParsedArguments::Named)
        };
        Self {
            call,
            displayed: tool.as_ref().map_or(&[][..], |tool| tool.rules().displayed),
            parameters: tool.map(|tool| tool.parameters()).unwrap_or_default(),
            args,
        }
    }

    /// The key arguments: the required ones first, then the other ones that were given, shortened.
    fn key_arguments(&self) -> String {
        let map = match &self.args {
            Some(ParsedArguments::Named(map)) => map,
            Some(ParsedArguments::Whole(patch)) => return clean_line(&patched_files(patch)),
            None => return clean_line(head(&self.call.args, MAX_ARG_CHARS)),
        };
        let parameter = |key: &str| {
            let mut parameters = self.parameters.iter().enumerate();
            parameters.find(|(_, parameter)| parameter.is_called(key))
        };
        let mut given: Vec<GivenArgument<'_>> = map
            .iter()
            .map(|(key, value)| {
                let parameter = parameter(key);
                let name = parameter.map_or(key.as_str(), |(_, parameter)| &*parameter.name);
                GivenArgument {
                    name,
                    parameter,
                    value,
                }
            })
            .collect();
        // The required ones in declaration order, the others as they were given.
        given.shared_sort_by_key(|given| match given.parameter {
            Some((at, parameter)) if parameter.required => at,
            _ => usize::MAX,
        });
        let mut words = Vec::new();
        for GivenArgument {
            name,
            parameter,
            value,
        } in given
        {
            if self.displayed.contains(&name) || value.is_null() {
                continue;
            }
            let text = match value {
                Value::String(text) => clip(text, MAX_ARG_CHARS),
                other => clip(&other.to_string(), MAX_ARG_CHARS),
            };
            // A word explains itself; a number or a yes needs the argument's name.
            let clear = match parameter {
                Some((_, parameter)) => {
                    parameter.required || matches!(parameter.kind, Type::Text | Type::Choice(_))
                }
                // What the tool does not know must not look like a part of what it does.
                None => self.parameters.is_empty() && value.is_string(),
            };
            let said = match (clear, parameter) {
                (true, _) => text,
                (false, None) if text.contains(char::is_whitespace) => {
                    format!("{name}=\"{text}\"")
                }
                (false, _) => format!("{name}={text}"),
            };
            words.push(clean_line(&said));
            if words.len() == 3 {
                break;
            }
        }
        words.join(" ")
    }
}

struct GivenArgument<'a> {
    name: &'a str,
    /// Its declaration and index.
    parameter: Option<(usize, &'a Parameter)>,
    value: &'a Value,
}

fn patched_files(patch: &str) -> String {
    const MARKS: [&str; 4] = [
        "*** Update File: ",
        "*** Add File: ",
        "*** Delete File: ",
        "+++ ",
    ];
    let mut files: Vec<&str> = Vec::new();
    for line in patch.lines() {
        let file = MARKS.iter().find_map(|mark| line.strip_prefix(mark));
        if let Some(file) = file.map(|file| file.strip_prefix("b/").unwrap_or(file).trim())
            && !files.contains(&file)
        {
            files.push(file);
        }
    }
    files.join(" ")
}
