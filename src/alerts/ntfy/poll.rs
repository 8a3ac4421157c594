//! Polls a server for several topics at once, within a time limit.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crossbeam_channel::{Sender, unbounded};

use super::answer::{self, TopicMessages};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::Outcome;
use crate::base::variables::NTFY_TOKEN;
use crate::net::error::Peer;
use crate::net::http::{Client, ClientOptions, Response, Timeouts};
use crate::net::proxies::ProxyRoute;
use crate::net::services;
use crate::net::user_agent::agent;
use crate::store::subscriptions::Subscription;

/// Maximum simultaneous requests.
const MAX_SIMULTANEOUS: usize = 8;
const MAX_RESPONSE_BYTES: usize = 1 << 20;

/// The new messages of a topic, or why there are none.
pub(crate) type TopicPoll = Result<TopicMessages, String>;

/// A client for the configured ntfy server, and its base address.
pub(crate) fn client(env: &Env, limit: Duration) -> Outcome<(Client, String)> {
    let base = base(env).to_owned();
    let route = ProxyRoute::for_url(env, &base)?;
    let limits = Timeouts {
        connect: limit,
        first_byte: limit,
        silence: limit,
    };
    let agent = agent(env, None);
    let client = Client::new(ClientOptions {
        limits,
        agent,
        route,
    });
    Ok((client, base))
}

/// The server's address.
pub(crate) fn base(env: &Env) -> &str {
    services::service("ntfy").map_or("", |service| service.base_in(env))
}

/// The headers of every request: credentials, as a token or as `name:password`.
pub(crate) fn headers(env: &Env) -> Vec<(&'static str, String)> {
    let line = |token: &str| {
        let word = match token.trim() {
            pair if pair.contains(':') => format!("Basic {}", STANDARD.encode(pair)),
            token => format!("Bearer {token}"),
        };
        ("authorization", word)
    };
    NTFY_TOKEN.read(env).map(line).into_iter().collect()
}

/// Polls all topics, several at once; responses that miss the time limit are left out.
pub(crate) fn ask(
    env: &Env,
    asked: &[Subscription],
    limit: Duration,
    stop: &Cancel,
) -> BTreeMap<String, TopicPoll> {
    let mut answers = BTreeMap::new();
    if asked.is_empty() {
        return answers;
    }
    let Ok((client, base)) = client(env, limit) else {
        return answers;
    };
    let (stop, _linked) = stop.child();
    let end = Instant::now() + limit;
    thread::scope(|scope| {
        let (tell, told) = unbounded();
        let share = asked.len().div_ceil(MAX_SIMULTANEOUS);
        for part in asked.chunks(share.max(1)) {
            let (tell, stop, client, base) = (tell.clone(), stop.clone(), &client, &base);
            scope.spawn(move || poll_in_turn(env, client, base, part, &stop, &tell));
        }
        drop(tell);
        while let Ok((topic, answer)) = told.recv_deadline(end) {
            answers.insert(topic, answer);
        }
        stop.fire();
    });
    answers
}

fn poll_in_turn(
    env: &Env,
    client: &Client,
    base: &str,
    part: &[Subscription],
    stop: &Cancel,
    tell: &Sender<(String, TopicPoll)>,
) {
    for subscription in part {
        let url = format!(
            "{base}/{}/json?poll=1&since={}",
            subscription.topic,
            subscription.since()
        );
        let answer = match client.get(&url, &headers(env), stop) {
            Ok(response) if response.status == 200 => {
                let mut response = response;
                let body = response.read_some(MAX_RESPONSE_BYTES);
                if stop.is_fired() {
                    return;
                }
                Ok(answer::read(&body, &subscription.seen))
            }
            Ok(mut response) => Err(refusal(&mut response)),
            Err(error) => Err(error.what(Peer::from(base).through(client.proxy()))),
        };
        let _ = tell.send((subscription.topic.clone(), answer));
    }
}

/// The message of a server that refused a request: ntfy's errors are JSON.
pub(crate) fn refusal(response: &mut Response) -> String {
    let body = response.read_some(4096);
    let said = serde_json::from_slice::<serde_json::Value>(&body).ok();
    let said = said
        .as_ref()
        .and_then(|said| said.get("error")?.as_str())
        .map(|said| crate::base::text::clip(&crate::base::text::escape_controls(said), 200));
    let what = match response.status {
        401 => "the server requires a token or refuses the one in NTFY_TOKEN",
        403 => "this topic is protected or reserved",
        404 => "there is no such topic or no ntfy server",
        413 => "the message is too long",
        429 => "too many requests; try again later",
        500..=599 => "the server failed",
        _ => "the server refused",
    };
    match said {
        Some(said) => format!("{what} ({}: {said})", response.status),
        None => format!("{what} ({})", response.status),
    }
}
