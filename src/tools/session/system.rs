//! Module `system`: this machine, this run, and leaving.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use crate::base::problem::{Outcome, Problem};
use crate::chat::usage::{Tokens, charge, credits};
use crate::store::cost_log;
use crate::store::usage::{self, ModelSum};
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::{Effect, MEMORY, READ, ToolOk};
use jiff::{Span, Timestamp};

tools! { "system";
    /// End the application.
    exit_app(ExitApp; MEMORY.seconds(5).idempotent()) {
        /// farewell
        message: String = "Goodbye!";
    } => exit;

    /// Facts about this machine.
    system_info(SystemInfo; READ.seconds(5).compact()) {
    } => facts, says ["system info", "about this machine"];

    /// Tokens, turns and estimated cost.
    get_usage(GetUsage; READ.seconds(5).compact()) {
        /// add lifetime totals
        include_lifetime: bool = false, alias: &["lifetime"];
        /// optional window: session, today, 24h, 7d, 30d, all or ISO date (later upstream)
        period: String = "session";
    } => get_usage, says ["usage", "what did it cost"];
}

fn exit(_: &ToolContext, args: ExitApp) -> Outcome<ToolOk> {
    Ok(ToolOk::from(args.message.clone()).and(Effect::Exit(args.message)))
}

fn facts(ctx: &ToolContext, _: SystemInfo) -> Outcome<String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut out = String::new();
    let release = read("/etc/os-release");
    let name = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .map(|name| name.trim_matches('"').to_owned());
    let kernel = read("/proc/sys/kernel/osrelease");
    let _ = writeln!(
        out,
        "System: {} ({} {}, kernel {})",
        name.unwrap_or_else(|| std::env::consts::OS.to_owned()),
        std::env::consts::OS,
        std::env::consts::ARCH,
        or_unknown(kernel.trim())
    );
    let cpu = read("/proc/cpuinfo");
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map(|(_, model)| model.trim().to_owned());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = read("/proc/loadavg")
        .split_whitespace()
        .take(3)
        .collect::<Vec<_>>()
        .join(" ");
    let _ = writeln!(
        out,
        "Processor: {}, {cores} cores, load {}",
        or_unknown(&model.unwrap_or_default()),
        or_unknown(&load)
    );
    let memory = read("/proc/meminfo");
    let kilobytes = |key: &str| {
        memory.lines().find_map(|line| {
            line.strip_prefix(key)?
                .trim()
                .strip_suffix(" kB")?
                .parse::<u64>()
                .ok()
        })
    };
    if let (Some(total), Some(free)) = (kilobytes("MemTotal:"), kilobytes("MemAvailable:")) {
        let _ = writeln!(
            out,
            "Memory: {:.1} GiB, {:.1} GiB available",
            gib(total * 1024),
            gib(free * 1024)
        );
    }
    let place = ctx
        .root()
        .map_or_else(|_| "/".into(), |root| root.path().to_owned());
    if let (Ok(total), Ok(free)) = (fs2::total_space(&place), fs2::available_space(&place)) {
        let _ = writeln!(
            out,
            "Disk at {}: {:.1} GiB, {:.1} GiB free",
            place.display(),
            gib(total),
            gib(free)
        );
    }
    if let Some(up) = read("/proc/uptime")
        .split('.')
        .next()
        .and_then(|seconds| seconds.parse::<u64>().ok())
    {
        let _ = writeln!(
            out,
            "Up: {} d {} h {} min",
            up / 86_400,
            up / 3_600 % 24,
            up / 60 % 60
        );
    }
    for name in ["BAT0", "BAT1"] {
        let at = |what: &str| {
            read(&format!("/sys/class/power_supply/{name}/{what}"))
                .trim()
                .to_owned()
        };
        if !at("capacity").is_empty() {
            let _ = writeln!(
                out,
                "Battery: {} %, {}",
                at("capacity"),
                at("status").to_lowercase()
            );
        }
    }
    Ok(out.trim_end().to_owned())
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "unknown" } else { text }
}

#[allow(clippy::cast_precision_loss)]
fn gib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}

fn get_usage(ctx: &ToolContext, args: GetUsage) -> Outcome<String> {
    let period = args.period.trim().to_lowercase();
    let mut out = match period.as_str() {
        "session" | "" => session(ctx),
        "all" | "lifetime" => return lifetime(ctx),
        _ => window(ctx, &period)?,
    };
    if args.include_lifetime {
        let _ = write!(out, "\n\n{}", lifetime(ctx)?);
    }
    Ok(out)
}

fn session(ctx: &ToolContext) -> String {
    let totals = ctx.session.ledger.totals();
    let models = totals.model_turns.iter().map(|(model, turns)| {
        let sum = ModelSum {
            turns: *turns,
            cost: totals.model_cost.get(model).copied().unwrap_or_default(),
            cost_estimated: totals.model_estimated_cost.contains_key(model),
        };
        (model.clone(), sum)
    });
    let all = ModelSum {
        turns: totals.turns,
        cost: totals.cost,
        cost_estimated: totals.cost_estimated(),
    };
    let mut out = summary("This session", all, &models.collect());
    for (provider, tokens) in &totals.provider_tokens {
        let _ = write!(out, "\n  {provider}: {}", tokens.words());
    }
    out.push_str(&credits("\n  ", totals.credits));
    if !totals.tool_calls.is_empty() {
        let calls: Vec<String> = totals
            .tool_calls
            .iter()
            .map(|(tool, count)| format!("{tool} {count}"))
            .collect();
        let _ = write!(out, "\n  tools: {}", calls.join(", "));
    }
    out
}

fn lifetime(ctx: &ToolContext) -> Outcome<String> {
    let all = usage::lifetime(&ctx.session.paths, &ctx.session.ledger)?.unwrap_or_default();
    let sum = ModelSum {
        turns: all.turns,
        cost: all.cost,
        cost_estimated: all.cost_estimated,
    };
    let credits = credits("\n  ", all.credits);
    Ok(summary("Lifetime", sum, &all.models) + &tokens_line(all.tokens) + &credits)
}

/// `PERIOD: $0.7500, 2 model calls`, and a line for each model. `~` marks what is estimated; what is free has no price.
fn summary(period: &str, all: ModelSum, models: &BTreeMap<String, ModelSum>) -> String {
    let charged = charge("", all.turns, all.cost, all.cost_estimated);
    let comma = if charged.is_empty() { "" } else { ", " };
    let mut out = format!("{period}: {charged}{comma}{} model calls", all.turns);
    for (model, sum) in models {
        let charged = charge(", ", sum.turns, sum.cost, sum.cost_estimated);
        let _ = write!(out, "\n  {model}: {} calls{charged}", sum.turns);
    }
    out
}

fn tokens_line(tokens: Tokens) -> String {
    if tokens.total() == 0 {
        String::new()
    } else {
        format!("\n  {}", tokens.words())
    }
}

/// Totals since a moment, from the log of single calls.
fn window(ctx: &ToolContext, period: &str) -> Outcome<String> {
    let since = since(ctx, period)?;
    let session = &ctx.session;
    let mut models: BTreeMap<String, ModelSum> = BTreeMap::new();
    let (mut all, mut tokens) = (ModelSum::default(), Tokens::default());
    for call in cost_log::calls_since(&session.paths, &session.profile(), &session.ledger, since)? {
        tokens.add(call.tokens);
        for sum in [&mut all, models.entry(call.model).or_default()] {
            sum.turns += 1;
            sum.cost += call.cost;
            sum.cost_estimated |= call.cost_estimated;
        }
    }
    let since = since
        .to_zoned(ctx.session.clock.now().time_zone().clone())
        .strftime("%Y-%m-%d %H:%M");
    Ok(summary(&format!("Since {since}"), all, &models) + &tokens_line(tokens))
}

fn since(ctx: &ToolContext, period: &str) -> Outcome<Timestamp> {
    let now = ctx.session.clock.now();
    let invalid = || {
        Problem::input(format!("\"{period}\" is not a period."))
            .next("One of: session, today, 24h, 7d, 30d, all, or a date such as 2026-11-01.")
    };
    let back = |span: Span| {
        now.checked_sub(span)
            .map(|then| then.timestamp())
            .map_err(|_| invalid())
    };
    if period == "today" {
        return now
            .start_of_day()
            .map(|day| day.timestamp())
            .map_err(|_| invalid());
    }
    let number = |text: &str| {
        text.parse::<i64>()
            .ok()
            .filter(|n| (1..=10_000).contains(n))
    };
    if let Some(hours) = period.strip_suffix('h').and_then(number) {
        return back(Span::new().hours(hours));
    }
    if let Some(days) = period.strip_suffix('d').and_then(number) {
        return back(Span::new().days(days));
    }
    let date: jiff::civil::Date = period.parse().map_err(|_| invalid())?;
    date.to_zoned(now.time_zone().clone())
        .map(|day| day.timestamp())
        .map_err(|_| invalid())
}
