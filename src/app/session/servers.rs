//! `/mcp`: the servers of the conversation, how they are, and what can be done about them.

use super::orders::Orders;
use super::run::Run;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::one_line;
use crate::mcp::config::edit;
use crate::mcp::config::files::ServerFile;
use crate::mcp::session::{SessionServers, report};
use crate::tools::engine::context::SessionContext;

const USAGE: &str = "Usage: /mcp [NAME], or /mcp restart|login|enable|disable NAME.";

/// `/mcp [WORDS]`.
pub(super) fn command(rest: &str, run: &Run, orders: &mut Orders) -> Outcome<()> {
    let words: Vec<String> =
        shlex::split(rest).ok_or_else(|| Problem::input("A quote is not closed.").next(USAGE))?;
    orders.list(run, move |context| carry_out(&words, context));
    Ok(())
}

fn carry_out(words: &[String], context: &SessionContext) -> Outcome<String> {
    let servers = context.modules.get::<SessionServers>();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => {
            servers.begin(context);
            Ok(servers.table())
        }
        [verb @ ("restart" | "enable" | "disable" | "login"), name] => {
            let server = servers.find(context, name)?;
            match *verb {
                "restart" => {
                    servers.restart(&server)?;
                    Ok(format!(
                        "{} is started anew; /mcp {} says how it goes.",
                        server.shown, server.name
                    ))
                }
                "login" => Ok(match servers.sign_in(&server)? {
                    true => format!("Signed in to {}.", server.shown),
                    false => format!("{} asks for no sign-in.", server.shown),
                }),
                verb => switch(context, &server.name, verb == "enable"),
            }
        }
        [name] => Ok(report::detail(&*servers.find(context, name)?)),
        [verb, ..] => Err(Problem::input(format!(
            "There is no command \"{}\" of /mcp.",
            one_line(verb)
        ))
        .next(USAGE)),
    }
}

fn switch(context: &SessionContext, name: &str, is_enabled: bool) -> Outcome<String> {
    let file = ServerFile::of_user(&context.env)?;
    edit::set_enabled(&file, name, is_enabled)?;
    let state = match is_enabled {
        true => "enabled",
        false => "disabled",
    };
    Ok(format!(
        "{} is {state} in {}, for sessions that begin now.",
        one_line(name),
        file.path.display()
    ))
}
