//! `marvin mcp read SERVER URI`: the contents of a resource.

use serde_json::Value;

use super::save::save;
use super::used_server::{ServerArgs, UsedServer};
use crate::app::settings::Settings;
use crate::base::problem::Outcome;
use crate::cli::out::print_words;
use crate::mcp::client::results;

pub(super) fn run(words: &[String], settings: Settings) -> Outcome<u8> {
    let args = ServerArgs::read("read", words, 2, &["--raw", "--answers", "--save"])?;
    let server = UsedServer::find(&args, &settings)?;
    let read = server
        .open()
        .inspect(|facts| server.remember_if_new(facts))
        .and_then(|_| server.connection.read(args.name(1), server.read_wait()));
    if let (Some(dir), Ok(result)) = (&args.save, &read) {
        let contents = result.get("contents").and_then(Value::as_array);
        save(dir, contents.map(Vec::as_slice).unwrap_or_default())?;
    }
    match read {
        Ok(result) if args.is_raw => print_words(&format!("{result}\n"))?,
        Ok(result) => {
            let contents = result.get("contents").and_then(Value::as_array);
            let contents = contents.into_iter().flatten();
            let texts: Vec<String> = contents.map(results::resource).collect();
            let text = texts.join("\n");
            print_words(&format!("{}\n", text.trim_end_matches('\n')))?;
        }
        Err(problem) => return server.failed(problem),
    }
    Ok(server.status(0))
}
