//! Web feeds: fetched by the guarded client, like any address from a model or a page, and parsed by the feed reader.

use std::fmt::Write as _;

use super::ReadRss;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::clip;
use crate::formats::address::Address;
use crate::formats::feed::{self, Feed, NoFeed};
use crate::net::service::body_so_far;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::untrusted::fenced;

const MAX_REDIRECTS: usize = 5;
/// Maximum size of a feed.
const MAX_FEED_BYTES: usize = 5_000_000;
/// Maximum characters of a title and of a summary.
const MAX_TITLE_CHARS: usize = 200;
const MAX_SUMMARY_CHARS: usize = 200;
const ACCEPT: &str =
    "application/rss+xml, application/atom+xml, application/xml;q=0.9, text/xml;q=0.8";

pub(super) fn read(ctx: &ToolContext, args: ReadRss) -> Outcome<String> {
    let url = args.url.trim();
    // Pages offer feeds to feed readers as feed://host/path and feed:https://host/path.
    let url = match url.split_once(':') {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("feed") => {
            match rest.strip_prefix("//") {
                Some(rest) => format!("https://{rest}"),
                None => rest.to_owned(),
            }
        }
        _ => url.to_owned(),
    };
    let address = Address::parse(&url)?;
    let headers = [
        ("accept", ACCEPT.to_owned()),
        ("accept-encoding", "gzip".to_owned()),
    ];
    let visitor = ctx.guarded_client()?.with_hops(MAX_REDIRECTS);
    let mut visit = visitor.open(&address, &headers, &ctx.stop)?;
    let status = visit.response.status;
    if !(200..300).contains(&status) {
        let wait = visit.response.header_text("retry-after");
        return Err(refused(&visit.address, status, wait.as_deref()));
    }
    let kind = visit.response.header_text("content-type");
    let host = visit.address.host.to_string();
    let (bytes, broken) =
        body_so_far(&mut visit.response, MAX_FEED_BYTES).map_err(|error| error.problem(&host))?;
    let max = usize::try_from(args.max_items).unwrap_or(usize::MAX);
    match (
        feed::read(&bytes, &kind.unwrap_or_default(), &visit.address, max),
        broken,
    ) {
        (Ok(feed), _) => Ok(fenced(&format!("the feed at {host}"), &shown(&feed))),
        (Err(_), Some(broken)) => Err(broken.problem(&host)),
        (Err(_), None) if bytes.trim_ascii().is_empty() => {
            let what = format!("{} answered with nothing ({status}).", visit.address);
            Err(Problem::network(what).next("Try again later, or check the address."))
        }
        (Err(error), None) => Err(no_feed(&visit.address, error)),
    }
}

fn refused(address: &Address, status: u16, wait: Option<&str>) -> Problem {
    let host = &address.host;
    let (kind, what) = match status {
        304 => (
            ProblemKind::Network,
            format!(
                "{host} answered that nothing changed, although that was not requested ({status})."
            ),
        ),
        401 | 407 => (
            ProblemKind::Refused,
            format!("{host} gives this feed only to those who sign in ({status})."),
        ),
        403 => (
            ProblemKind::Refused,
            format!("{host} refused the request ({status})."),
        ),
        404 => (
            ProblemKind::Missing,
            format!("{host} has no feed at this address ({status})."),
        ),
        406 => (
            ProblemKind::Refused,
            format!("{host} has nothing there that is a feed by its own account ({status})."),
        ),
        410 => (
            ProblemKind::Missing,
            format!("The feed has been removed, according to {host} ({status})."),
        ),
        429 => (
            ProblemKind::Limit,
            format!("Too many requests to {host} ({status})."),
        ),
        500..=599 => (ProblemKind::Network, format!("{host} failed ({status}).")),
        _ => (
            ProblemKind::Network,
            format!("{host} answered with status {status}."),
        ),
    };
    let problem = Problem::new(kind, what);
    match (wait.map(str::trim), status) {
        (Some(wait), _)
            if wait.bytes().all(|b| b.is_ascii_digit()) && wait.bytes().any(|b| b != b'0') =>
        {
            problem.next(format!("Try again in {} s.", clip(wait, 12)))
        }
        // A date, not an invalid number.
        (Some(wait), _) if wait.contains(|c: char| c.is_ascii_alphabetic()) => {
            problem.next(format!(
                "Try again after {}.",
                clip(&crate::base::text::escape_controls(wait), 60)
            ))
        }
        (_, 404 | 410) => problem.next("Look on the site's page for the address of its feed."),
        (_, 429 | 500..=599) => problem.next("Try again later."),
        _ => problem,
    }
}

fn no_feed(address: &Address, reason: NoFeed) -> Problem {
    match reason {
        NoFeed::Page(named) if named.is_empty() => Problem::input(format!(
            "{address} is a web page, not a feed, and names no feed."
        ))
        .next("browse_web reads pages."),
        NoFeed::Page(named) => {
            let problem = Problem::input(format!("{address} is a web page, not a feed."));
            named.into_iter().fold(problem, |problem, feed| {
                let title = match feed.title.as_str() {
                    "" => String::new(),
                    title => format!(" ({title})"),
                };
                problem.next(format!("It names this feed: {}{title}", feed.url))
            })
        }
        NoFeed::Other(root) => Problem::input(format!(
            "{address} is not a readable feed: its root element is <{}>.",
            clip(&crate::base::text::escape_controls(&root), 40)
        )),
        NoFeed::Broken => Problem::network(format!(
            "{address} is not a readable feed: it is broken or cut off before its first entry."
        ))
        .next("Try again later."),
        NoFeed::Unreadable => Problem::input(format!(
            "{address} is not a readable feed: it is neither RSS nor Atom."
        )),
    }
}

fn shown(feed: &Feed) -> String {
    let mut out = match feed.title.as_str() {
        "" => "Feed without a title".to_owned(),
        title => clip(title, MAX_TITLE_CHARS),
    };
    if let Some(link) = &feed.link {
        let _ = write!(out, "\n{link}");
    }
    let _ = match (feed.entries.len(), feed.count) {
        (_, 0) => write!(out, "\nIt has no entries."),
        (shown, all) if shown < all => {
            write!(out, "\n{shown} of {all} entries, in the feed's order")
        }
        (1, _) => write!(out, "\n1 entry"),
        (_, all) => write!(out, "\n{all} entries, in the feed's order"),
    };
    if let Some(note) = feed.note {
        let _ = write!(out, "\n{note}");
    }
    for (n, entry) in feed.entries.iter().enumerate() {
        let title = match entry.title.as_str() {
            "" => "Untitled".to_owned(),
            title => clip(title, MAX_TITLE_CHARS),
        };
        let _ = write!(out, "\n\n{}. {title}", n + 1);
        let summary = clip(&entry.summary, MAX_SUMMARY_CHARS);
        let link = entry.link.clone().unwrap_or_default();
        for line in [&entry.date, &summary, &link] {
            if !line.is_empty() {
                let _ = write!(out, "\n   {line}");
            }
        }
    }
    out
}
