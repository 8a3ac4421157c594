//! Reads the parameters of a method, and makes errors of what is wrong with them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::base::problem::Problem;
use crate::base::text::{clip, escape_controls};
use crate::formats::json_rpc::RpcError;

/// No model is set up.
pub(super) const AUTH_REQUIRED: i64 = -32_000;
/// There is no such session, mode, option or file.
pub(super) const NOT_FOUND: i64 = -32_002;
/// The client has cancelled the request.
pub(super) const CANCELLED: i64 = -32_800;

/// What a method answers.
pub(super) type Answer = Result<Value, RpcError>;

/// A parameter is missing or wrong.
pub(super) fn wrong(field: &str, words: impl Into<String>) -> RpcError {
    RpcError::new(RpcError::INVALID_PARAMS, words).with(json!({"field": field}))
}

/// What the client names does not exist.
pub(super) fn not_found(what: &str, name: &str) -> RpcError {
    let shown = clip(&escape_controls(name), 120);
    RpcError::new(NOT_FOUND, format!("There is no {what} \"{shown}\".")).with(json!({"uri": name}))
}

/// Everything else that went wrong.
pub(super) fn internal(problem: &Problem) -> RpcError {
    RpcError::new(RpcError::INTERNAL, problem.what.clone())
        .with(json!({"details": problem.next.join(" ")}))
}

/// A text that has to be there.
pub(super) fn text<'a>(params: &'a Value, field: &str) -> Result<&'a str, RpcError> {
    match params.get(field) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(wrong(field, format!("{field} is no text."))),
        None => Err(wrong(field, format!("{field} is missing."))),
    }
}

/// A text that may be missing or null.
pub(super) fn optional_text<'a>(
    params: &'a Value,
    field: &str,
) -> Result<Option<&'a str>, RpcError> {
    match params.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => text(params, field).map(Some),
    }
}

/// A list that may be missing or null.
pub(super) fn list<'a>(params: &'a Value, field: &str) -> Result<&'a [Value], RpcError> {
    match params.get(field) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(wrong(field, format!("{field} is no list."))),
    }
}

/// The folder that a session works in.
pub(super) fn cwd(params: &Value) -> Result<PathBuf, RpcError> {
    folder("cwd", text(params, "cwd")?)
}

/// The further folders that a session's file tools may use.
pub(super) fn further_folders(params: &Value) -> Result<Vec<PathBuf>, RpcError> {
    const FIELD: &str = "additionalDirectories";
    let given = list(params, FIELD)?.iter();
    let words = || wrong(FIELD, "A folder is a text.");
    given
        .map(|item| folder(FIELD, item.as_str().ok_or_else(words)?))
        .collect()
}

fn folder(field: &str, given: &str) -> Result<PathBuf, RpcError> {
    let path = absolute(field, given)?;
    match path.is_dir() {
        true => Ok(path.to_owned()),
        false => Err(wrong(field, format!("\"{}\" is no folder.", shown(given)))),
    }
}

/// An absolute path, whether there is something or not.
pub(super) fn absolute<'a>(field: &str, given: &'a str) -> Result<&'a Path, RpcError> {
    let path = Path::new(given);
    match path.is_absolute() && !given.contains('\0') {
        true => Ok(path),
        false => Err(wrong(
            field,
            format!(
                "{field} has to be an absolute path, not \"{}\".",
                shown(given)
            ),
        )),
    }
}

fn shown(given: &str) -> String {
    clip(&escape_controls(given), 200)
}
