//! The methods that clients call, each with the eras that know it.

use serde_json::{Map, Value, json};

use super::exchange::Exchange;
use super::offering::{Answer, Offering, invalid_params, no_method};
use super::subscription;
use crate::base::json::put;
use crate::formats::json_rpc::RpcError;
use crate::mcp::log_level::LEVELS;
use crate::mcp::revision::{Era, MODERN};

/// For how long a client may keep a result, and whether it may show it to others.
pub(super) struct Freshness {
    pub milliseconds: u64,
    pub scope: &'static str,
}

/// What changes with the program only.
const FIXED: Option<Freshness> = Some(Freshness {
    milliseconds: 3_600_000,
    scope: "public",
});
/// What the user's notes and places are.
const CURRENT: Option<Freshness> = Some(Freshness {
    milliseconds: 0,
    scope: "private",
});

/// How long a request can take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lasting {
    /// It is answered before the next message is read.
    Instant,
    /// It is worked on beside others.
    Work,
    /// It stays open until the client or the server ends it.
    Open,
}

/// A row of the table.
pub(super) struct Method {
    pub name: &'static str,
    in_modern: bool,
    in_legacy: bool,
    pub lasting: Lasting,
    pub freshness: Option<Freshness>,
    pub run: fn(&dyn Offering, &Exchange, &Value) -> Answer,
}

impl Method {
    /// The method `name`, if `era` knows it.
    pub(super) fn find(name: &str, era: Era) -> Option<&'static Self> {
        let row = METHODS.iter().find(|method| method.name == name)?;
        let is_known = match era {
            Era::Modern => row.in_modern,
            Era::Legacy(_) => row.in_legacy,
        };
        is_known.then_some(row)
    }

    /// The method, if the server says that it has it: it may do without subscriptions.
    ///
    /// # Errors
    /// It has not.
    pub(super) fn is_there(
        &'static self,
        offering: &dyn Offering,
    ) -> Result<&'static Self, RpcError> {
        let has = || {
            offering
                .capabilities()
                .pointer("/resources/subscribe")
                .is_some()
        };
        match self.name.ends_with("subscribe") && !has() {
            true => Err(no_method(self.name)),
            false => Ok(self),
        }
    }

    const fn both(name: &'static str, run: fn(&dyn Offering, &Exchange, &Value) -> Answer) -> Self {
        Self {
            name,
            in_modern: true,
            in_legacy: true,
            lasting: Lasting::Instant,
            freshness: None,
            run,
        }
    }

    const fn modern(
        name: &'static str,
        run: fn(&dyn Offering, &Exchange, &Value) -> Answer,
    ) -> Self {
        Self {
            in_legacy: false,
            ..Self::both(name, run)
        }
    }

    const fn legacy(
        name: &'static str,
        run: fn(&dyn Offering, &Exchange, &Value) -> Answer,
    ) -> Self {
        Self {
            in_modern: false,
            ..Self::both(name, run)
        }
    }

    const fn lasting(self, lasting: Lasting) -> Self {
        Self { lasting, ..self }
    }

    const fn fresh(self, freshness: Option<Freshness>) -> Self {
        Self { freshness, ..self }
    }
}

static METHODS: &[Method] = &[
    Method::legacy("initialize", initialize),
    Method::legacy("ping", nothing),
    Method::legacy("logging/setLevel", set_level),
    Method::legacy("resources/subscribe", subscribe),
    Method::legacy("resources/unsubscribe", subscribe),
    Method::modern("server/discover", discover).fresh(FIXED),
    Method::modern("subscriptions/listen", subscription::listen).lasting(Lasting::Open),
    Method::both("tools/list", tools).fresh(FIXED),
    Method::both("tools/call", call).lasting(Lasting::Work),
    Method::both("prompts/list", prompts).fresh(FIXED),
    Method::both("prompts/get", prompt).lasting(Lasting::Work),
    Method::both("resources/list", resources)
        .lasting(Lasting::Work)
        .fresh(CURRENT),
    Method::both("resources/templates/list", templates).fresh(FIXED),
    Method::both("resources/read", read)
        .lasting(Lasting::Work)
        .fresh(CURRENT),
    Method::both("completion/complete", complete).lasting(Lasting::Work),
];

/// A field of the parameters that has to be a text.
fn text<'a>(params: &'a Value, field: &str) -> Result<&'a str, RpcError> {
    let pointer = format!("/{field}");
    let text = params.pointer(&pointer).and_then(Value::as_str);
    text.ok_or_else(|| invalid_params(format!("params.{} needs a text.", field.replace('/', "."))))
}

fn initialize(offering: &dyn Offering, exchange: &Exchange, params: &Value) -> Answer {
    text(params, "protocolVersion")?;
    let Era::Legacy(legacy) = exchange.era else {
        return Err(invalid_params("There is no handshake in this revision."));
    };
    let mut capabilities = offering.capabilities();
    put(&mut capabilities, "logging", json!({}));
    Ok(json!({
        "protocolVersion": legacy.name,
        "capabilities": capabilities,
        "serverInfo": offering.about(),
        "instructions": offering.instructions(),
    }))
}

fn nothing(_: &dyn Offering, _: &Exchange, _: &Value) -> Answer {
    Ok(json!({}))
}

fn set_level(_: &dyn Offering, exchange: &Exchange, params: &Value) -> Answer {
    let level = text(params, "level")?;
    match exchange.peer.set_level(level) {
        true => Ok(json!({})),
        false => Err(invalid_params(format!(
            "The levels are {}.",
            LEVELS.join(", ")
        ))),
    }
}

/// Resources of which something could be told do not change here.
fn subscribe(_: &dyn Offering, _: &Exchange, params: &Value) -> Answer {
    text(params, "uri").map(|_| json!({}))
}

fn discover(offering: &dyn Offering, _: &Exchange, _: &Value) -> Answer {
    Ok(json!({
        "supportedVersions": [MODERN],
        "capabilities": offering.capabilities(),
        "instructions": offering.instructions(),
    }))
}

/// A list on one page.
fn page(name: &str, items: Vec<Value>, params: &Value) -> Answer {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(json!({ name: items })),
        Some(_) => Err(invalid_params(
            "The list has one page, and no cursor leads to another.",
        )),
    }
}

fn tools(offering: &dyn Offering, _: &Exchange, params: &Value) -> Answer {
    page("tools", offering.tools(), params)
}

fn call(offering: &dyn Offering, exchange: &Exchange, params: &Value) -> Answer {
    let name = text(params, "name")?;
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(_) => return Err(invalid_params("params.arguments needs an object.")),
    };
    offering.call(exchange, name, arguments)
}

fn prompts(offering: &dyn Offering, _: &Exchange, params: &Value) -> Answer {
    page("prompts", offering.prompts(), params)
}

fn prompt(offering: &dyn Offering, exchange: &Exchange, params: &Value) -> Answer {
    let arguments = params.get("arguments").unwrap_or(&Value::Null);
    offering.prompt(exchange, text(params, "name")?, arguments)
}

fn resources(offering: &dyn Offering, _: &Exchange, params: &Value) -> Answer {
    page("resources", offering.resources(), params)
}

fn templates(offering: &dyn Offering, _: &Exchange, params: &Value) -> Answer {
    page("resourceTemplates", offering.templates(), params)
}

fn read(offering: &dyn Offering, _: &Exchange, params: &Value) -> Answer {
    offering.read(text(params, "uri")?)
}

/// Values that are told of an argument.
const COMPLETIONS: usize = 100;

fn complete(offering: &dyn Offering, _: &Exchange, params: &Value) -> Answer {
    let name = text(params, "argument/name")?;
    let value = text(params, "argument/value")?;
    let mut values = match text(params, "ref/type")? {
        "ref/resource" => offering.complete(text(params, "ref/uri")?, name, value)?,
        "ref/prompt" => offering.complete_prompt(text(params, "ref/name")?, name, value)?,
        _ => {
            return Err(invalid_params(
                "params.ref.type is ref/prompt or ref/resource.",
            ));
        }
    };
    let total = values.len();
    values.truncate(COMPLETIONS);
    Ok(json!({"completion": {"values": values, "total": total, "hasMore": total > COMPLETIONS}}))
}
