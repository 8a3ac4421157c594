//! `marvin mcp prompt SERVER NAME [k=v]…`: the messages of a prompt.

use serde_json::{Map, Value};

use super::used_server::{ServerArgs, UsedServer};
use crate::app::settings::Settings;
use crate::base::json::JsonExt as _;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::one_line;
use crate::cli::out::print_words;
use crate::mcp::client::results;

pub(super) fn run(words: &[String], settings: Settings) -> Outcome<u8> {
    let args = ServerArgs::read("prompt", words, 2, &["k=v", "--raw", "--answers"])?;
    let values = texts(&args.pairs)?;
    let server = UsedServer::find(&args, &settings)?;
    let prompt = server.open().and_then(|facts| {
        server.remember_if_new(&facts);
        let wait = server.read_wait();
        server.connection.prompt(args.name(1), &values, wait)
    });
    match prompt {
        Ok(result) if args.is_raw => print_words(&format!("{result}\n"))?,
        Ok(result) => {
            let messages = result.list("messages").iter().map(|message| {
                let role = one_line(message.text("role").unwrap_or("user"));
                let content = message.get("content").unwrap_or(&Value::Null);
                format!("{role}: {}\n", results::block(content))
            });
            print_words(&messages.collect::<String>())?;
        }
        Err(problem) => return server.failed(problem),
    }
    Ok(server.status(0))
}

/// Arguments of prompts are texts.
fn texts(pairs: &[String]) -> Outcome<Map<String, Value>> {
    let texts = pairs.iter().map(|pair| match pair.split_once('=') {
        Some((key, text)) => Ok((key.to_owned(), Value::from(text))),
        None => Err(Problem::input(format!(
            "\"{}\" is not of the form key=value.",
            one_line(pair)
        ))),
    });
    texts.collect()
}
