//! Module `ntfy`: push messages. Anyone who knows a topic's name can read it; messages go only to subscribed topics.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use crate::base::problem::{Outcome, Problem, ProblemKind, not_empty};
use crate::base::text::{clip, escape_controls, plural};
use crate::net::services::{NTFY, Service};
use crate::store::subscriptions::{LastSeen, MessageReader, Subscription, is_name};
use crate::tools::engine::approval::ApprovalRequest;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::output::untrusted::fenced;
use crate::tools::{MEMORY, OUTSIDE, RECORDS};

/// The ntfy server.
static SERVER: [&Service; 1] = [&NTFY];

tools! { "ntfy";
    /// Invent a topic name and subscribe to it.
    generate_ntfy_topic(GenerateNtfyTopic; RECORDS.seconds(5).service("ntfy.sh")) {
        /// friendly name
        label: String = "";
    } => generate, says ["new ntfy topic"];

    /// Subscribe to a topic.
    ntfy_subscribe(NtfySubscribe; RECORDS.seconds(5).service("ntfy.sh").idempotent()) {
        /// topic
        topic: String, example: "my-long-secret-topic";
        /// friendly name
        label: String = "";
    } => subscribe, says ["subscribe to {topic}"];

    /// Drop a subscription.
    ntfy_unsubscribe(NtfyUnsubscribe; RECORDS.seconds(5).service("ntfy.sh").destructive().idempotent()) {
        /// topic
        topic: String, example: "my-long-secret-topic";
    } => unsubscribe, says ["unsubscribe from {topic}"];

    /// Send a notification.
    ntfy_publish(NtfyPublish; OUTSIDE.seconds(10).service("ntfy.sh").asks(&SERVER).additive()) {
        /// topic
        topic: String, example: "my-long-secret-topic";
        /// text
        message: String, example: "Tests are green", alias: &["text", "body"];
        /// title
        title: String = "";
    } => publish, says ["notify {topic}: {message}"];

    /// List subscriptions and fetch news.
    ntfy_list(NtfyList; MEMORY.seconds(15).service("ntfy.sh").asks(&SERVER).planned_always()) {
    } => list, says ["ntfy list", "list subscriptions", "any notifications"];
}

/// Bytes of a message; a longer one would become an attachment (docs.ntfy.sh/publish).
const MAX_MESSAGE_BYTES: usize = 4_096;
/// Messages of one topic in a list, and characters of all of them.
const MESSAGES: usize = 30;
const CHARACTERS: usize = 12_000;
/// Characters of a title and of a label.
const TITLE: usize = 200;

fn path(ctx: &ToolContext) -> Outcome<PathBuf> {
    let profile = ctx.session.paths.profile(&ctx.session.profile())?;
    Ok(profile.ntfy_subscriptions())
}

fn subscriptions(ctx: &ToolContext) -> Outcome<(Vec<Subscription>, Vec<String>)> {
    let mut warnings = Vec::new();
    let found = crate::store::subscriptions::read(&path(ctx)?, &ctx.session.clock, &mut |w| {
        warnings.push(w);
    });
    Ok((found, warnings))
}

/// The name of a topic, given as a name or an address.
fn topic_name(ctx: &ToolContext, given: &str) -> Outcome<String> {
    let given = given.trim();
    let base = crate::alerts::ntfy::poll::base(&ctx.session.env);
    let trimmed = given
        .strip_prefix(base)
        .map_or(given, |rest| rest.trim_matches('/'));
    if is_name(trimmed) {
        return Ok(trimmed.to_owned());
    }
    Err(Problem::input(format!(
        "\"{}\" cannot be a topic.",
        clip(&escape_controls(given), 80)
    ))
    .next("Topics have letters, digits, hyphens and underscores, at most 64."))
}

fn label(given: &str) -> String {
    let given: String = escape_controls(given).replace(['\n', '\t'], " ");
    clip(given.trim(), TITLE)
}

fn url(ctx: &ToolContext, topic: &str) -> String {
    format!(
        "{}/{topic}",
        crate::alerts::ntfy::poll::base(&ctx.session.env)
    )
}

fn generate(ctx: &ToolContext, args: GenerateNtfyTopic) -> Outcome<String> {
    let topic = crate::alerts::ntfy::topic::invent()?;
    let label = label(&args.label);
    crate::store::subscriptions::add(&path(ctx)?, &topic, &label, &ctx.session.clock)?;
    crate::alerts::ntfy::reminder_topic::allow(&ctx.session.alerts, &label)?;
    let shown = if label.is_empty() { &topic } else { &label };
    let url = url(ctx, &topic);
    Ok(format!(
        "New topic: {topic}\nLabel: {shown}\nAddress: {url}\nSubscribed. Anyone who knows the name can read and write there.\n\
         Example: curl -d \"Hello\" {url}"
    ))
}

fn subscribe(ctx: &ToolContext, args: NtfySubscribe) -> Outcome<String> {
    let topic = topic_name(ctx, &args.topic)?;
    let label = label(&args.label);
    // Messages go only to subscribed topics unless the user approves: a model could name any.
    ctx.approve(ApprovalRequest::new(
        "Subscribe to this ntfy topic?",
        "subscribe to this topic",
        &topic,
    ))?;
    let new = crate::store::subscriptions::add(&path(ctx)?, &topic, &label, &ctx.session.clock)?;
    crate::alerts::ntfy::reminder_topic::allow(&ctx.session.alerts, &label)?;
    let (all, _) = subscriptions(ctx)?;
    let shown = match label.as_str() {
        "" => String::new(),
        label => format!(" ({label})"),
    };
    Ok(format!(
        "{} to {topic}{shown}: {}. {} in all.",
        if new {
            "Subscribed"
        } else {
            "Already subscribed"
        },
        url(ctx, &topic),
        plural(all.len(), "subscription")
    ))
}

/// The subscription that is meant: by topic, address or label.
fn find_subscription(
    ctx: &ToolContext,
    given: &str,
) -> Outcome<Result<Subscription, Vec<Subscription>>> {
    let (all, _) = subscriptions(ctx)?;
    let given = given.trim();
    let topic = topic_name(ctx, given).ok();
    let found = all
        .iter()
        .find(|one| Some(&one.topic) == topic.as_ref())
        .or_else(|| {
            let mut labelled = all
                .iter()
                .filter(|one| one.label.eq_ignore_ascii_case(given));
            labelled.next().filter(|_| labelled.next().is_none())
        })
        .cloned();
    Ok(found.ok_or(all))
}

/// The error for a topic without a subscription.
fn not_subscribed(given: &str, all: &[Subscription]) -> Problem {
    let shown = clip(&escape_controls(given.trim()), 80);
    let problem = Problem::refused(format!("\"{shown}\" is not among the subscriptions."));
    let names: Vec<&str> = all.iter().map(|one| one.topic.as_str()).collect();
    let others = match names.get(..names.len().min(20)).unwrap_or_default() {
        [] => "There are none yet; generate_ntfy_topic makes one.".to_owned(),
        first => format!("Subscribed: {}.", first.join(", ")),
    };
    problem.near_or(given, names, others)
}

fn unsubscribe(ctx: &ToolContext, args: NtfyUnsubscribe) -> Outcome<String> {
    let one = match find_subscription(ctx, &args.topic)? {
        Ok(one) => one,
        Err(all) => {
            let mut problem = not_subscribed(&args.topic, &all);
            problem.kind = ProblemKind::Missing;
            return Err(problem);
        }
    };
    // This comes first: a reminder in between would create a new topic.
    let off = crate::alerts::ntfy::reminder_topic::end(&ctx.session.alerts, &one)?;
    crate::store::subscriptions::drop_topic(&path(ctx)?, &one.topic, &ctx.session.clock)?;
    let (left, _) = subscriptions(ctx)?;
    Ok(format!(
        "Unsubscribed from {}. {} left.{}",
        one.topic,
        plural(left.len(), "subscription"),
        off.map_or_else(String::new, |words| format!("\n{words}"))
    ))
}

fn publish(ctx: &ToolContext, args: NtfyPublish) -> Outcome<String> {
    let message = not_empty("message", &args.message, "Give the text to send.")?;
    if message.len() > MAX_MESSAGE_BYTES {
        return Err(Problem::limit(format!(
            "The message has {} bytes; the limit is {MAX_MESSAGE_BYTES}.",
            message.len()
        ))
        .next("Send a shorter text."));
    }
    let one = match find_subscription(ctx, &args.topic)? {
        Ok(one) => one,
        Err(all) => {
            return Err(not_subscribed(&args.topic, &all).next(
                "Messages go only to subscribed topics, so that nothing leaks to a stranger's; the user can subscribe first.",
            ));
        }
    };
    crate::alerts::ntfy::send::send(
        &ctx.session.env,
        &one.topic,
        &label(&args.title),
        message,
        &ctx.stop,
    )?;
    Ok(format!("Sent to {} ({}).", one.label, one.topic))
}

fn list(ctx: &ToolContext, _: NtfyList) -> Outcome<String> {
    let (all, warnings) = subscriptions(ctx)?;
    let mut out = warnings.iter().fold(String::new(), |out, w| out + w + "\n");
    if all.is_empty() {
        out.push_str(
            "No subscriptions yet. generate_ntfy_topic makes a topic, ntfy_subscribe adds one.",
        );
        return Ok(out);
    }
    let _ = write!(out, "{}:", plural(all.len(), "subscription"));
    for one in &all {
        let _ = write!(
            out,
            "\n{} — {}",
            escape_controls(&one.label),
            url(ctx, &one.topic)
        );
    }
    let requests: Vec<Subscription> = all.iter().cloned().map(Subscription::for_list).collect();
    let answers = crate::alerts::ntfy::poll::ask(
        &ctx.session.env,
        &requests,
        crate::alerts::ntfy::TIMEOUT,
        &ctx.stop,
    );
    ctx.stop.check()?;
    let mut seen: BTreeMap<String, LastSeen> = BTreeMap::new();
    let (mut news, mut troubles) = (Vec::new(), Vec::new());
    let mut room = CHARACTERS;
    for one in &all {
        match answers.get(&one.topic) {
            Some(Ok(answer)) => {
                let shown = answer.shown(&one.label, MESSAGES, room);
                let length: usize = shown.notices.iter().map(|text| text.chars().count()).sum();
                room = room.saturating_sub(length);
                news.extend(shown.notices);
                if shown.left > 0 {
                    news.push(format!(
                        "🔔 {}: … {} more; call ntfy_list again for them",
                        one.label, shown.left
                    ));
                }
                let last = shown.last.unwrap_or_else(|| one.seen.clone());
                seen.insert(one.topic.clone(), last);
            }
            Some(Err(reason)) => troubles.push(format!("{}: {reason}", one.label)),
            None => troubles.push(format!("{}: no answer in time", one.label)),
        }
    }
    if !seen.is_empty() {
        crate::store::subscriptions::remember(
            &path(ctx)?,
            &seen,
            MessageReader::List,
            &ctx.session.clock.utc(),
        )?;
    }
    if news.is_empty() && troubles.is_empty() {
        out.push_str("\n\nNo new messages.");
    } else if !news.is_empty() {
        out.push_str("\n\nNew messages, which strangers may have written:\n");
        out.push_str(&fenced("ntfy", &escape_controls(&news.join("\n"))));
    }
    if !troubles.is_empty() {
        let _ = write!(
            out,
            "\n\nCould not be reached:\n{}",
            escape_controls(&troubles.join("\n"))
        );
    }
    Ok(out)
}
