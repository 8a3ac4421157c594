//! The engine that drives ripgrep by its JSON records (contract/services/ripgrep.md).

use std::ops::ControlFlow;
use std::path::Path;

use base64::Engine as _;
use serde::Deserialize;

use super::names::Names;
use super::{Found, LIMIT, Line, Search, VENDOR};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::error::{Outcome, Problem};
use crate::base::text;
use crate::proc::child::Run;
use crate::proc::scrub::command_env;

#[derive(Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "lowercase")]
enum Record {
    Match(Shown),
    Context(Shown),
    End(Ended),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Shown {
    path: Text,
    lines: Text,
    line_number: Option<u64>,
}

#[derive(Deserialize)]
struct Ended {
    path: Text,
    binary_offset: Option<u64>,
}

/// Text, or bytes in base64 when it is not UTF-8.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Text { text: String },
    Bytes { bytes: String },
}

impl Text {
    fn read(self) -> String {
        match self {
            Self::Text { text } => text,
            Self::Bytes { bytes } => {
                let bytes = base64::prelude::BASE64_STANDARD
                    .decode(bytes)
                    .unwrap_or_default();
                String::from_utf8_lossy(&bytes).into_owned()
            }
        }
    }
}

pub(super) fn search(
    program: &Path,
    dir: &Path,
    what: &Search<'_>,
    names: &Names,
    env: &Env,
    stop: &Cancel,
) -> Outcome<Found> {
    let mut args: Vec<String> = [
        "--json",
        "--no-config",
        "--sort",
        "path",
        "--no-ignore-messages",
        "--crlf",
    ]
    .map(str::to_owned)
    .to_vec();
    args.extend(["-C".to_owned(), what.context.to_string()]);
    // A type, unlike -g, does not bring back what .gitignore hides.
    if let Some(plain) = names.plain() {
        args.extend(["--type-add".to_owned(), format!("wanted:{plain}")]);
        args.push("--type=wanted".to_owned());
    }
    args.extend(
        VENDOR
            .iter()
            .flat_map(|name| ["-g".to_owned(), format!("!{name}/")]),
    );
    args.extend([
        "-e".to_owned(),
        what.pattern.to_owned(),
        "--".to_owned(),
        "./".to_owned(),
    ]);
    let mut run = Run::new(program, args, command_env(env));
    run.dir = Some(dir.to_owned());
    run.limit = LIMIT;
    let mut found = Found::default();
    let done = run
        .run_split(stop, b'\n', &mut |record| {
            let (shown, hit) = match serde_json::from_slice(record) {
                Ok(Record::Match(shown)) => (shown, true),
                Ok(Record::Context(shown)) => (shown, false),
                Ok(Record::End(file)) if file.binary_offset.is_some() => {
                    // A binary file after all: what was found in it is text that means nothing.
                    let path = file.path.read();
                    let path = path.strip_prefix("./").unwrap_or(&path);
                    found.lines.retain(|line| line.path != path);
                    return ControlFlow::Continue(());
                }
                _ => return ControlFlow::Continue(()),
            };
            let path = shown.path.read();
            let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
            if !names.take(&path) {
                return ControlFlow::Continue(());
            }
            if hit && found.hits() == what.most {
                found.more = true;
                return ControlFlow::Break(());
            }
            let text = shown.lines.read();
            found.lines.push(Line {
                path,
                number: shown.line_number.unwrap_or_default(),
                text: text
                    .trim_end_matches('\n')
                    .trim_end_matches('\r')
                    .to_owned(),
                hit,
            });
            ControlFlow::Continue(())
        })?
        .unless_cancelled()?;
    let said = done.stderr.text();
    if done.code == Some(2) && found.lines.is_empty() && said.contains("regex") {
        return Err(not_a_pattern(what.pattern, &said));
    }
    if done.timed_out {
        found
            .troubles
            .push(format!("the rest; the search {}", done.ending()));
    }
    found.troubles.extend(said.lines().filter_map(trouble));
    found.trim(what.context);
    Ok(found)
}

/// A file that could not be read, in the words that the other engine uses.
pub(super) fn trouble(line: &str) -> Option<String> {
    let line = line.strip_prefix("rg: ").unwrap_or(line);
    // A folder's name comes twice, the second time behind these words.
    let (_, line) = line
        .split_once("IO error for operation on ")
        .unwrap_or(("", line));
    let line = line.strip_prefix("./").unwrap_or(line);
    // With a file name filter that fits nothing, ripgrep explains itself at length; the answer says it already.
    let about_files = !line.is_empty() && !line.contains("No files were searched");
    about_files.then(|| text::clip(&text::visible(line), 200))
}

/// A pattern that the engine does not take, with its words.
pub(super) fn not_a_pattern(pattern: &str, said: &str) -> Problem {
    Problem::input(format!("\"{}\" is no regular expression: {}", text::clip(pattern, 200), text::clip(said.trim(), 600)))
        .next("Escape characters that are meant as themselves, such as ( [ { . * + ? with a backslash. There is no look-around.")
}
