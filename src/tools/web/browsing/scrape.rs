//! `scrape_page`: a page after its scripts have run in a browser or, without one, as it was served.

use std::time::Duration;

use serde_json::{Value, json};

use super::browse::{clipped_address, head};
use super::driver::{
    DriverError, DriverPair, DriverTimeouts, Process, WebDriverSession, installed,
};
use super::fetch::{ContentKind, FetchedPage, fetch, readable_text, status_words};
use super::lynx::tidy;
use super::menu::prices;
use super::{Extract, ScrapePage, window};
use crate::base::problem::{Outcome, Problem, ProblemKind as Why};
use crate::base::text::{clip, escape_controls, thousands};
use crate::formats::address::Address;
use crate::formats::html::{self, Selector};
use crate::net::filtering_proxy::FilteringProxy;
use crate::net::guard::Guard;
use crate::net::proxies::ProxyRoute;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::untrusted::fenced;

/// Minimum interval between two pages.
const PAGE_INTERVAL: Duration = Duration::from_secs(3);
/// Time limits for a page.
const PAGE_TIMEOUTS: DriverTimeouts = DriverTimeouts {
    load: Duration::from_secs(30),
    script: Duration::from_secs(5),
};
/// Time for scripts that continue after a page has loaded.
const SCRIPT_SETTLE_TIME: Duration = Duration::from_secs(2);
/// Time limit for resolving the final address.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum links that are listed.
const MAX_LINKS: usize = 100;
/// Maximum ids that are listed when a selector matches nothing.
const MAX_IDS: usize = 40;
/// Maximum characters taken from a browser.
const MAX_TEXT_CHARS: usize = 400_000;
/// Elements that surround a page's text.
const FRAME_ELEMENTS: [&str; 6] = ["script", "style", "nav", "header", "footer", "iframe"];
/// Extracts the parts of a page inside the browser.
const SCRIPT: &str = include_str!("scrape.js");

struct PageExtract {
    address: Address,
    title: Option<String>,
    text: String,
    links: Vec<(String, String)>,
    /// Notes on the result, a sentence each.
    notes: Vec<String>,
}

/// Loads the page in `args` and extracts the requested parts.
///
/// # Errors
/// As [`fetch`]; `Refused` when the browser is led to a private address; `Input` for a selector that matches nothing; `Cancelled`.
pub(super) fn page(ctx: &ToolContext, args: ScrapePage) -> Outcome<String> {
    let address = Address::parse(&args.url)?;
    let host = address.host.to_string();
    ctx.session
        .services
        .wait_turn("scrape_page", &host, PAGE_INTERVAL, &ctx.stop)?;
    // Fetched by Marvin first: a browser reports neither the status nor content that is not a page, and shows errors as pages.
    let fetched = fetch(ctx, &address)?;
    let status = fetched.status;
    let mut extracted = match fetched.kind {
        ContentKind::Text => PageExtract {
            text: readable_text(&fetched.text),
            address: fetched.address,
            title: None,
            links: Vec::new(),
            notes: vec!["It is plain text, without scripts.".to_owned()],
        },
        ContentKind::Html => by_browser(ctx, &args, &address, fetched)?,
    };
    if status >= 400 {
        extracted.notes.push(format!(
            "The server answered {status}{}: this is its error page.",
            status_words(status)
        ));
    }
    Ok(render(&args, &address, extracted))
}

/// Uses the first browser that starts; without one, the served page.
fn by_browser(
    ctx: &ToolContext,
    args: &ScrapePage,
    address: &Address,
    fetched: FetchedPage,
) -> Outcome<PageExtract> {
    let mut reason = "No browser with a driver was found (geckodriver and Firefox, or chromedriver and Chromium), so its scripts were not run; \
                   the packages firefox-esr and geckodriver, or chromium and chromium-driver, have them."
        .to_owned();
    for pair in installed(&ctx.session.env) {
        let begun = Browser::start(ctx, &pair, PAGE_TIMEOUTS);
        let started = begun.is_ok();
        let mut extracted =
            begun.and_then(|browser| load_in(ctx, args, address, &fetched, browser));
        // A session that died is restarted, once.
        if extracted
            .as_ref()
            .is_err_and(|failed| failed.is("invalid session id"))
        {
            extracted = Browser::start(ctx, &pair, PAGE_TIMEOUTS)
                .and_then(|browser| load_in(ctx, args, address, &fetched, browser));
        }
        let problem = match extracted {
            Ok(extracted) => return Ok(extracted),
            Err(failed) => failed.problem(),
        };
        if matches!(problem.kind, Why::Cancelled | Why::Input | Why::Refused) {
            return Err(problem);
        }
        ctx.stop.check()?;
        reason = format!("{} So its scripts were not run.", problem.what);
        if started {
            break;
        }
    }
    from_response(args, fetched, reason)
}

/// A running browser and its only way to the network; dropped in this order.
struct Browser {
    session: WebDriverSession,
    _process: Process,
    gateway: FilteringProxy,
    guard: Guard,
    timeouts: DriverTimeouts,
}

impl Browser {
    fn start(
        ctx: &ToolContext,
        pair: &DriverPair,
        timeouts: DriverTimeouts,
    ) -> Result<Self, DriverError> {
        let env = &ctx.session.env;
        let guard = Guard::new(env)?;
        let gateway = FilteringProxy::open_to_user(env, guard.clone(), &ctx.stop)?;
        ctx.progress("starting the browser");
        let process = Process::start(pair, env, &ctx.stop)?;
        let session =
            WebDriverSession::open(&process, pair, gateway.address(), timeouts, &ctx.stop)?;
        Ok(Self {
            session,
            _process: process,
            gateway,
            guard,
            timeouts,
        })
    }
}

fn load_in(
    ctx: &ToolContext,
    args: &ScrapePage,
    address: &Address,
    fetched: &FetchedPage,
    browser: Browser,
) -> Result<PageExtract, DriverError> {
    let Browser {
        session,
        gateway,
        guard,
        timeouts,
        ..
    } = &browser;
    ctx.progress(format!("loading {}", clip(&clipped_address(address), 60)));
    let mut notes = Vec::new();
    match session.go(&address.to_string()) {
        Ok(()) => {}
        Err(failed) if failed.is("timeout") => notes.push(format!(
            "The page did not finish loading within {} s; this is what was there by then.",
            timeouts.load.as_secs()
        )),
        Err(failed) => return Err(blocked(gateway, address).map_or(failed, DriverError::Problem)),
    }
    let busy = session.script("return document.scripts.length > 0", &json!([]));
    if busy.as_ref().is_ok_and(|value| value == &Value::Bool(true))
        && !ctx.stop.sleep(SCRIPT_SETTLE_TIME)
    {
        return Err(Problem::cancelled().into());
    }
    let words = json!([
        args.css_selector.trim(),
        MAX_TEXT_CHARS,
        MAX_LINKS,
        MAX_IDS,
        FRAME_ELEMENTS
    ]);
    let value = match session.script(SCRIPT, &words) {
        Ok(value) if value.get("href").is_some() => Some(value),
        // A page may have broken the built-ins that scripts need; its source is available all the same.
        Ok(_) | Err(DriverError::Reported(..)) => None,
        Err(failed) => return Err(failed),
    };
    let href = match &value {
        Some(value) => word(value, "href").to_owned(),
        None => session.current_url()?,
    };
    let late = !notes.is_empty();
    let last = Address::parse(&href).map_err(|_| {
        // A page of the browser itself: it could not load the address.
        let shows = match late {
            true => format!(" within {} s", timeouts.load.as_secs()),
            false => format!("; it shows {}", clip(&escape_controls(&href), 100)),
        };
        blocked(gateway, address).unwrap_or_else(|| {
            Problem::network(format!(
                "The browser could not load {}{shows}.",
                clipped_address(address)
            ))
        })
    })?;
    if last != *address && last != fetched.address {
        let proxied = ProxyRoute::for_url(&ctx.session.env, &last.to_string())?
            .proxy
            .is_some();
        let judged = guard.resolve_allowed(&last, proxied, LOOKUP_TIMEOUT, &ctx.stop);
        judged.map_err(|mut problem| {
            problem.what = format!("The page leads elsewhere: {}", problem.what);
            problem
        })?;
    }
    let mut extracted = match value {
        Some(value) => by_script(args, &value, last)?,
        None => from_source(args, &session.source()?, last, None)?,
    };
    let barred = gateway.refusals();
    if let Some(first) = barred.first() {
        notes.push(format!(
            "{} of the page could not be made: {first}",
            crate::base::text::plural(barred.len(), "request")
        ));
    }
    extracted.notes = notes;
    Ok(extracted)
}

/// The result of Marvin's script.
fn by_script(args: &ScrapePage, value: &Value, address: Address) -> Outcome<PageExtract> {
    if value.get("bad") == Some(&Value::Bool(true)) {
        return Err(no_selector(&args.css_selector));
    }
    if value.get("missing") == Some(&Value::Bool(true)) {
        let ids: Vec<String> = list(value, "ids").filter_map(text_of).collect();
        return Err(no_element(&args.css_selector, &ids));
    }
    Ok(PageExtract {
        title: Some(word(value, "title").to_owned()).filter(|title| !title.is_empty()),
        text: tidy(word(value, "text")),
        links: list(value, "links")
            .filter_map(|link| Some((text_of(link.get(0)?)?, text_of(link.get(1)?)?)))
            .collect(),
        address,
        notes: Vec::new(),
    })
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn text_of(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// The problem when the page led the browser to an address that the guard refuses.
fn blocked(gateway: &FilteringProxy, address: &Address) -> Option<Problem> {
    let barred = gateway.refusals().into_iter().next()?;
    Some(
        Problem::refused(format!("{} leads elsewhere: {barred}", address.host))
            .next("Use an address on the public internet."),
    )
}

fn from_response(args: &ScrapePage, fetched: FetchedPage, reason: String) -> Outcome<PageExtract> {
    let mut extracted = from_source(args, &fetched.text, fetched.address, Some(&reason))?;
    extracted.notes.push(reason);
    Ok(extracted)
}

/// Extracts the requested parts from HTML; `reason` says why no browser was used.
fn from_source(
    args: &ScrapePage,
    source: &str,
    address: Address,
    reason: Option<&str>,
) -> Outcome<PageExtract> {
    let selector = match args.css_selector.trim() {
        "" => None,
        text => Some(Selector::parse(text).ok_or_else(|| {
            Problem::input(format!(
                "Only a plain selector works without a browser's help (main, #id, .class, div.class), not \"{}\".",
                clip(&escape_controls(text), 100)
            ))
            .next(reason.unwrap_or("The page broke the functions that scripts need."))
        })?),
    };
    let whole = |frame: &[&str]| html::page_part(source, selector.as_ref(), frame);
    let mut part = whole(&FRAME_ELEMENTS)
        .ok_or_else(|| no_element(&args.css_selector, &html::ids(source, MAX_IDS)))?;
    if part.text.is_empty() && part.links.is_empty() {
        part = whole(&[]).unwrap_or(part);
    }
    let links = part.links.into_iter().filter(|link| {
        !link.href.starts_with('#') && !link.href.to_ascii_lowercase().starts_with("javascript:")
    });
    let links = links.map(|link| {
        let url = address.join(&link.href);
        let url = url.map_or(link.href, |url| url.to_string());
        (link.text, url)
    });
    Ok(PageExtract {
        links: links.collect(),
        title: part.title.or_else(|| html::title(source)),
        text: part.text,
        address,
        notes: Vec::new(),
    })
}

fn no_element(selector: &str, ids: &[String]) -> Problem {
    let problem = Problem::input(format!(
        "No element of the page fits \"{}\".",
        clip(&escape_controls(selector.trim()), 100)
    ));
    if ids.is_empty() {
        return problem.next("The page has no ids; leave css_selector out.");
    }
    let ids: Vec<String> = ids
        .iter()
        .map(|id| clip(&escape_controls(id), 60))
        .collect();
    problem.next(format!("Ids on the page: {}.", ids.join(", ")))
}

fn no_selector(selector: &str) -> Problem {
    Problem::input(format!(
        "\"{}\" is not a valid CSS selector.",
        clip(&escape_controls(selector.trim()), 100)
    ))
    .next("Give one such as main, #menu, .price or table tr.")
}

/// The result as text.
fn render(args: &ScrapePage, requested: &Address, mut extracted: PageExtract) -> String {
    let text = match args.extract {
        Extract::Text => extracted.text,
        Extract::Menu => prices(&extracted.text).unwrap_or_else(|| {
            extracted
                .notes
                .push("No line of it has a price; this is all of its text.".to_owned());
            extracted.text
        }),
        Extract::Links => links(&mut extracted),
    };
    let mut out = head(requested, &extracted.address, extracted.title.as_deref());
    for note in &extracted.notes {
        out.push_str(note);
        out.push('\n');
    }
    let source = clipped_address(&extracted.address);
    if text.trim().is_empty() {
        let what = match args.extract {
            Extract::Links => "no links",
            Extract::Text | Extract::Menu => "no text",
        };
        return format!("{out}{source} has {what}.");
    }
    let max = usize::try_from(args.max_length).unwrap_or(usize::MAX);
    let (first, total) = window(&text, 0, max);
    out.push_str(&fenced(&source, first));
    let count = first.chars().count();
    if count < total {
        out.push_str(&format!(
            "\nThese are the first {} of {} characters. A css_selector limits it to one element; max_length takes up to 8,000.",
            thousands(count as u64),
            thousands(total as u64)
        ));
    }
    out
}

fn links(extracted: &mut PageExtract) -> String {
    let mut out = String::new();
    for (words, place) in extracted.links.iter().take(MAX_LINKS) {
        let words: Vec<&str> = words.split_whitespace().collect();
        let words = clip(&escape_controls(&words.join(" ")), 120);
        let words = if words.is_empty() {
            "(no words)"
        } else {
            &words
        };
        out.push_str(&format!(
            "{words} -> {}\n",
            clip(&escape_controls(place), 500)
        ));
    }
    if extracted.links.len() > MAX_LINKS {
        extracted.notes.push(format!(
            "It has more than {MAX_LINKS} links; these are the first."
        ));
    }
    out
}

#[cfg(test)]
mod tests;
