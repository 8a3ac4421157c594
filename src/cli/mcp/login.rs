//! `marvin mcp login` and `marvin mcp logout`: tokens for servers that are reached over HTTP.

use std::sync::atomic::Ordering;

use super::console::sign_in_here;
use super::{entry, unknown_flag, usage};
use crate::app::settings::Settings;
use crate::app::stream::say;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::one_line;
use crate::cli::out::print;
use crate::cli::tool::stop_on_signals;
use crate::mcp::auth::policy::SignInPolicy;
use crate::mcp::auth::signed_in::SignedIn;

/// `marvin mcp login NAME`.
pub(super) fn login(words: &[String], settings: Settings) -> Outcome<u8> {
    let session = session("login", words, &settings, sign_in_here(&settings.env))?;
    until_signal(|stop| {
        let name = one_line(session.name());
        print(&match session.sign_in_now(stop)? {
            true => format!("Signed in to {name}.\n"),
            false => format!("{name} asks for no sign-in.\n"),
        })
    })
}

/// `marvin mcp logout NAME`.
pub(super) fn logout(words: &[String], settings: Settings) -> Outcome<u8> {
    let session = session("logout", words, &settings, SignInPolicy::Never)?;
    until_signal(|stop| {
        let name = one_line(session.name());
        let (was_signed_in, problem) = session.sign_out(stop)?;
        if let Some(problem) = problem {
            say(&format!(
                "The token is forgotten here but may still be valid: {}",
                problem.one_line()
            ));
        }
        print(&match was_signed_in {
            true => format!("Signed out of {name}.\n"),
            false => format!("You were not signed in to {name}.\n"),
        })
    })
}

/// What is known of the sign-in to the server that the words name.
fn session(
    command: &str,
    words: &[String],
    settings: &Settings,
    policy: SignInPolicy,
) -> Outcome<SignedIn> {
    if let Some(flag) = words.iter().find(|word| word.starts_with('-')) {
        return Err(unknown_flag(command, flag, &[]));
    }
    let [name] = words else {
        return Err(usage(command, "It needs the name of one server."));
    };
    let entry = entry::entry(name, settings, false)?;
    entry::signed_in(&entry, settings, policy)?.ok_or_else(|| {
        Problem::input(format!(
            "The server \"{}\" is a program, and there is no sign-in to it here.",
            one_line(&entry.name)
        ))
        .next("If it needs a key, give it with \"env\" in mcp.json.")
    })
}

/// Does it until it is done or a signal comes, whose status is that of the run.
fn until_signal(work: impl FnOnce(&Cancel) -> Outcome<()>) -> Outcome<u8> {
    let stop = Cancel::new();
    let signal = stop_on_signals(&stop);
    let outcome = work(&stop);
    match (signal.load(Ordering::SeqCst), outcome) {
        (0, outcome) => outcome.map(|()| 0),
        (signal, _) => Ok(128 + signal),
    }
}
