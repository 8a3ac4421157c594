//! A provider's own list of models, asked live.

use std::thread;
use std::time::Duration;

use super::list::{ListedModel, parse_list};
use super::near;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::shared_sort::SharedSort as _;
use crate::llm::catalog::{ProviderSpec, Wire};
use crate::llm::choose::RemoteTarget;
use crate::llm::wire::{Dialect, ErrorContext, errors};
use crate::net::http::{Client, ClientOptions, Timeouts};
use crate::net::proxies::ProxyRoute;
use crate::net::user_agent;

/// How long a list may take when somebody waits for it.
pub(crate) const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// Most bytes of one page; the longest list of today, OpenRouter's, has half a megabyte.
const MAX_PAGE_BYTES: usize = 16 << 20;
/// Most pages; Anthropic gives a thousand models each.
const MAX_PAGES: usize = 20;

/// The models that `remote` serves now, in the order of their names.
///
/// # Errors
/// It cannot be reached within `limit`, refuses, or answers something else than a list.
pub(crate) fn listed_models(
    remote: &RemoteTarget,
    env: &Env,
    limit: Duration,
    stop: &Cancel,
) -> Outcome<Vec<ListedModel>> {
    let client = Client::new(ClientOptions {
        limits: Timeouts {
            connect: limit,
            first_byte: limit,
            silence: limit,
        },
        agent: user_agent::agent(env, None),
        route: ProxyRoute::for_url(env, &remote.base)?,
    });
    match within(limit, stop, |stop| all_pages(remote, &client, stop)) {
        Err(problem) if problem.is_cancelled() && !stop.is_fired() => {
            let seconds = limit.as_secs();
            let what = format!(
                "{} did not send its list of models within {seconds} s.",
                remote.row.name
            );
            Err(Problem::timeout(what).next("Try again later."))
        }
        result => result,
    }
}

/// Does `work`, which is cancelled with `stop` and after `limit`: the limit is for the whole, connecting, waiting, and a server that sends a byte a second.
pub(crate) fn within<T>(limit: Duration, stop: &Cancel, work: impl FnOnce(&Cancel) -> T) -> T {
    let (cut, _guard) = stop.child();
    let done = Cancel::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            if done.sleep(limit) {
                cut.fire();
            }
        });
        let result = work(&cut);
        done.fire();
        result
    })
}

fn all_pages(remote: &RemoteTarget, client: &Client, stop: &Cancel) -> Outcome<Vec<ListedModel>> {
    let first = url(remote.row, &remote.base);
    let mut models = Vec::new();
    let mut after: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let address = match &after {
            Some(after) => format!("{first}&after_id={after}"),
            None => first.clone(),
        };
        let body = page(remote, client, &address, stop)?;
        let page = parse_list(remote.row.name, &body)?;
        models.extend(page.models);
        match page
            .next
            .filter(|next| after.as_ref() != Some(next) && fits_a_query(next))
        {
            Some(next) if first.contains('?') => after = Some(next),
            _ => break,
        }
    }
    models.shared_sort_by(|one, other| one.id.cmp(&other.id));
    models.dedup_by(|one, other| one.id == other.id);
    let names = models.iter().map(|model| model.id.clone()).collect();
    near::remember(remote.row.name, &remote.base, names);
    Ok(models)
}

fn page(remote: &RemoteTarget, client: &Client, url: &str, stop: &Cancel) -> Outcome<Vec<u8>> {
    let place = format!("{} at {}", remote.row.name, remote.base);
    let headers: Vec<_> = remote
        .headers(Dialect::of(remote.row, &remote.base))
        .into_iter()
        .filter(|(name, _)| !matches!(*name, "content-type" | "accept"))
        .chain([("accept", "application/json".to_owned())])
        .collect();
    let mut response = client
        .get(url, &headers, stop)
        .map_err(|error| error.problem(&place))?;
    let mut body = Vec::new();
    let mut buffer = [0u8; 16 * 1024];
    loop {
        match response
            .read(&mut buffer)
            .map_err(|error| error.problem(&place))?
        {
            0 => break,
            count => body.extend_from_slice(buffer.get(..count).unwrap_or_default()),
        }
        if body.len() > MAX_PAGE_BYTES {
            let what = format!("The list of models of {} is too long.", remote.row.name);
            return Err(Problem::limit(what));
        }
    }
    if (200..300).contains(&response.status) {
        return Ok(body);
    }
    let context = ErrorContext {
        model: remote.row.model.to_owned(),
        secrets: remote.secrets(),
        url_variable: remote.url_variable.to_string(),
        ..ErrorContext::new(remote.row)
    };
    let header = |name: &str| response.header(name).map(str::to_owned);
    let failure = errors::from_response(&context, response.status, &header, &body);
    Err(*failure.problem)
}

/// Where the list is. `base` may also be the whole address of the chat.
fn url(row: &'static ProviderSpec, base: &str) -> String {
    let wire = Dialect::of(row, base).wire;
    let mut base = base.trim_end_matches('/');
    for path in ["/chat/completions", "/responses", "/messages", "/api/chat"] {
        base = base.strip_suffix(path).unwrap_or(base);
    }
    match wire {
        Wire::Anthropic => {
            let origin = base.strip_suffix("/v1").unwrap_or(base);
            format!("{origin}/v1/models?limit=1000")
        }
        Wire::Ollama => format!("{base}/api/tags"),
        Wire::Completions | Wire::Responses => format!("{base}/models"),
    }
}

fn fits_a_query(name: &str) -> bool {
    name.bytes().all(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':' | b'/')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::catalog;

    #[test]
    fn the_list_is_beside_the_chat() {
        for (provider, base, wanted) in [
            ("openai", "https://a/v1", "https://a/v1/models"),
            ("openai", "https://a/v1/", "https://a/v1/models"),
            ("xai", "https://a/v1/responses", "https://a/v1/models"),
            (
                "openai-compat",
                "https://a/v1/chat/completions",
                "https://a/v1/models",
            ),
            ("anthropic", "https://a", "https://a/v1/models?limit=1000"),
            (
                "anthropic",
                "https://a/v1/messages",
                "https://a/v1/models?limit=1000",
            ),
            ("ollama", "http://a:1", "http://a:1/api/tags"),
            ("ollama", "http://a:1/api/chat", "http://a:1/api/tags"),
            ("ollama", "http://a:1/v1", "http://a:1/v1/models"),
            ("lmstudio", "http://a:1/v1", "http://a:1/v1/models"),
        ] {
            assert_eq!(url(catalog::row(provider).unwrap(), base), wanted);
        }
    }
}
