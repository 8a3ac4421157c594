//! How families of models write a call of a tool, each as a model that always knows the right one.

use serde_json::{Map, Value, json};

/// How a call of a tool with these arguments is written.
type Write = fn(&str, &Map<String, Value>) -> String;

#[derive(Debug)]
pub(crate) struct Family {
    pub name: &'static str,
    /// A model of it, so that the flow takes the right one of its ways.
    pub model: &'static str,
    /// The call in the text of an answer; `None` when it goes where the provider's protocol has it, or when it is not made at all.
    write: Option<Write>,
    calls: bool,
    /// What stands around the last answer.
    around: (&'static str, &'static str),
}

/// What a scripted model answers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Text(String),
    /// A call of the provider's protocol.
    Call(String, Map<String, Value>),
}

impl Family {
    pub(crate) fn call(&self, tool: &str, arguments: &Map<String, Value>) -> Option<Said> {
        let native = || Said::Call(tool.to_owned(), arguments.clone());
        self.calls.then(|| match self.write {
            Some(write) => Said::Text(write(tool, arguments)),
            None => native(),
        })
    }

    /// The last answer.
    pub(crate) fn answer(&self, text: &str) -> Said {
        Said::Text(format!("{}{text}{}", self.around.0, self.around.1))
    }
}

pub(crate) fn find(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.name == name)
}

const fn writing(name: &'static str, model: &'static str, write: Write) -> Family {
    Family {
        name,
        model,
        write: Some(write),
        calls: true,
        around: ("", ""),
    }
}

/// The families, by what their chat templates teach them; the last ones are models with a fault.
pub(crate) static FAMILIES: &[Family] = &[
    Family {
        name: "native",
        model: "gpt-oss:20b",
        write: None,
        calls: true,
        around: ("", ""),
    },
    // What Marvin itself teaches.
    writing("taught", "gemma4:e2b", |tool, arguments| {
        format!(
            "```tool_call\n{}\n```",
            object(tool, "arguments", arguments)
        )
    }),
    writing("hermes", "qwen3:4b", |tool, arguments| {
        let call = object(tool, "arguments", arguments);
        format!("<tool_call>\n{call}\n</tool_call>")
    }),
    writing("mistral", "mistral:7b", |tool, arguments| {
        format!("[TOOL_CALLS] [{}]", object(tool, "arguments", arguments))
    }),
    writing("llama", "llama3.2:3b", |tool, arguments| {
        format!("<|python_tag|>{}", object(tool, "parameters", arguments))
    }),
    writing("llama-json", "llama3.2:1b", |tool, arguments| {
        object(tool, "parameters", arguments)
    }),
    writing("llama-function", "llama3.2:3b", |tool, arguments| {
        format!("<function={tool}>{}</function>", json!(arguments))
    }),
    writing("deepseek", "deepseek-r1:7b", |tool, arguments| {
        format!(
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{tool}\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            json!(arguments)
        )
    }),
    writing("harmony", "local-4b", |tool, arguments| {
        format!(
            "<|channel|>commentary to=functions.{tool} <|constrain|>json<|message|>{}<|call|>",
            json!(arguments)
        )
    }),
    writing("invoke", "local-4b", |tool, arguments| {
        let parameters = arguments.iter().map(|(name, value)| {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            format!("<parameter name=\"{name}\">{value}</parameter>\n")
        });
        let parameters: String = parameters.collect();
        format!(
            "<function_calls>\n<invoke name=\"{tool}\">\n{parameters}</invoke>\n</function_calls>"
        )
    }),
    writing("react", "local-4b", |tool, arguments| {
        format!(
            "Thought: I should look this up.\nAction: {tool}\nAction Input: {}",
            json!(arguments)
        )
    }),
    // Ends its answers with the tokens of its template.
    Family {
        name: "leaky",
        model: "gemma4:e2b",
        write: Some(|tool, arguments| {
            format!(
                "```tool_call\n{}\n```",
                object(tool, "arguments", arguments)
            )
        }),
        calls: true,
        around: ("<think>Now I answer.</think>", "<end_of_turn>"),
    },
    // Knows everything better.
    Family {
        name: "silent",
        model: "gemma4:e2b",
        write: None,
        calls: false,
        around: ("", ""),
    },
];

fn object(tool: &str, key: &str, arguments: &Map<String, Value>) -> String {
    json!({"name": tool, key: arguments}).to_string()
}
