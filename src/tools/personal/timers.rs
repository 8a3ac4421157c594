//! Module `timers`: countdowns and stopwatches of this process.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::alerts::Alerts;
use crate::alerts::timer::Timer;
use crate::base::params::{Param, Type};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::formats::duration;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::{MEMORY, READ};

tools! { "timers";
    /// Start a countdown or stopwatch.
    timer_start(TimerStart; MEMORY.seconds(5).planned_as_written().compact()) {
        /// name, lower-cased
        name: String, example: "tea";
        /// 0 = stopwatch
        duration_seconds: Seconds = 0, min: 0, alias: &["duration", "seconds"], example: "300";
    } => start, says ["start a timer of {duration_seconds} called {name}", "start stopwatch {name}"];

    /// Show one timer or all.
    timer_check(TimerCheck; READ.seconds(5).compact()) {
        /// empty = all
        name: String = "";
    } => check, says ["show timers", "check timer {name}"];

    /// Stop a timer.
    timer_stop(TimerStop; MEMORY.seconds(5).idempotent().planned_as_written().compact()) {
        /// timer
        name: String, example: "tea";
    } => stop, says ["stop timer {name}"];
}

const MAX_TIMERS: usize = 1_000;

/// Seconds, also as `5m` or `1h30m`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seconds(u64);

impl Param for Seconds {
    const TYPE: Type = Type::Whole;
    fn read(value: &Value) -> Option<Self> {
        let plain = u64::read(value).map(Self);
        plain.or_else(|| duration::read(value.as_str()?).map(|time| Self(time.as_secs())))
    }
}

fn name(given: &str) -> Outcome<String> {
    let name = clip(&escape_controls(&given.trim().to_lowercase()), 80);
    if name.is_empty() {
        return Err(Problem::input("A timer needs a name.").next("Give one, such as \"tea\"."));
    }
    Ok(name)
}

fn start(ctx: &ToolContext, args: TimerStart) -> Outcome<String> {
    let name = name(&args.name)?;
    let now = Instant::now();
    let lasts = (args.duration_seconds.0 > 0).then(|| Duration::from_secs(args.duration_seconds.0));
    let timer = Timer {
        started: now,
        lasts,
        rung: false,
    };
    if lasts.is_some() && timer.ends().is_none() {
        return Err(Problem::input("No clock runs that long.").next("Give fewer seconds."));
    }
    {
        let mut timers = ctx.session.alerts.timers();
        if let Some(other) = timers.get(&name).filter(|other| other.is_running(now)) {
            return Err(Problem::refused(format!(
                "Timer \"{name}\" is running already: {}.",
                other.state(now)
            ))
            .next("Stop it with timer_stop, or choose another name."));
        }
        if timers.len() >= MAX_TIMERS {
            return Err(
                Problem::limit(format!("There are {MAX_TIMERS} timers.")).next("Stop some.")
            );
        }
        timers.insert(name.clone(), timer);
    }
    Alerts::wake(&ctx.session.alerts);
    let mut out = match lasts {
        Some(lasts) => format!("Countdown \"{name}\" started: {}.", duration::words(lasts)),
        None => format!("Stopwatch \"{name}\" started."),
    };
    if !ctx.session.alerts.has_session() {
        out.push_str(" It lives in this process alone and ends with it; set_alarm outlives it.");
    }
    Ok(out)
}

fn check(ctx: &ToolContext, args: TimerCheck) -> Outcome<String> {
    let now = Instant::now();
    let timers = ctx.session.alerts.timers();
    if args.name.trim().is_empty() {
        if timers.is_empty() {
            return Ok("No timers.".to_owned());
        }
        let mut lines: Vec<String> = timers
            .iter()
            .map(|(name, timer)| format!("{name}: {}", timer.state(now)))
            .collect();
        lines.sort();
        return Ok(lines.join("\n"));
    }
    let name = name(&args.name)?;
    match timers.get(&name) {
        Some(timer) => Ok(format!("{name}: {}", timer.state(now))),
        None => Err(unknown(&name, timers.keys().map(String::as_str))),
    }
}

fn stop(ctx: &ToolContext, args: TimerStop) -> Outcome<String> {
    let name = name(&args.name)?;
    let mut timers = ctx.session.alerts.timers();
    match timers.remove(&name) {
        Some(timer) => Ok(format!(
            "Timer \"{name}\" stopped: {}.",
            timer.result(Instant::now())
        )),
        None => Err(unknown(&name, timers.keys().map(String::as_str))),
    }
}

fn unknown<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Problem {
    let names: Vec<&str> = names.collect();
    let problem = Problem::missing(format!("There is no timer \"{name}\"."));
    let others = match names.is_empty() {
        true => "No timer was started in this process.".to_owned(),
        false => format!("Timers: {}.", names.join(", ")),
    };
    problem.near_or(name, names, others)
}
