//! `--ntfy`: one message when a run ends. Anyone who knows the name of a topic can read it, so the message contains nothing of the conversation.

use std::time::Duration;

use super::stream::say;
use crate::alerts::ntfy::poll;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::ids;
use crate::chat::usage::{Totals, charge, credits};
use crate::net::http::{Client, ClientOptions, Timeouts};
use crate::net::proxies::ProxyRoute;
use crate::net::services;
use crate::net::user_agent::agent;

/// The topic to use: the given one, or a new random one that is printed on standard error.
pub(crate) fn topic(given: &str) -> String {
    if !given.is_empty() {
        return given.to_owned();
    }
    let topic = format!("marvin-{}", ids::hex(10));
    say(&format!("ntfy topic: {topic}"));
    topic
}

/// Sends the message that a run ended. A failure within the time limit is ignored: the process is waiting to exit.
pub(crate) fn notify_end(
    env: &Env,
    topic: &str,
    timeout: Duration,
    well: bool,
    took: Duration,
    totals: &Totals,
) {
    let words = format!(
        "Marvin {} after {} s{}{}.",
        if well { "is done" } else { "failed" },
        took.as_secs(),
        charge(", ", totals.turns, totals.cost, totals.cost_estimated()),
        credits(", ", totals.credits)
    );
    send(env, topic, &words, timeout, &Cancel::new());
}

/// Sends `words` to a topic, within `timeout` in all and until `stop` fires. A failure is ignored: nobody depends on the message.
pub(super) fn send(env: &Env, topic: &str, words: &str, timeout: Duration, stop: &Cancel) {
    let Some(service) = services::service("ntfy") else {
        return;
    };
    let safe: String = topic
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .collect();
    let base = service.base_in(env).to_owned();
    let limits = Timeouts {
        connect: timeout,
        first_byte: timeout,
        silence: timeout,
    };
    let url = format!("{base}/{safe}");
    let Ok(route) = ProxyRoute::for_url(env, &url) else {
        return;
    };
    let client = Client::new(ClientOptions {
        limits,
        agent: agent(env, None),
        route,
    });
    let mut headers = poll::headers(env);
    headers.push(("content-type", "text/plain".to_owned()));
    // The client's timeouts apply to each phase; this one applies to the whole request.
    let (late, _link) = stop.child();
    let timer = late.clone();
    let _ = std::thread::Builder::new().spawn(move || {
        timer.sleep(timeout);
        timer.fire();
    });
    let _ = client.post(&url, &headers, words.as_bytes(), &late);
    late.fire();
}
