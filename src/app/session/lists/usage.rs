//! The `usage` report: what this session, the last week and all sessions cost, with bars for days and models.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::app::session::session_cost::{SessionCost, spent_words};
use crate::base::problem::Outcome;
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{clip, counted, trim_decimals};
use crate::chat::usage::{Tokens, charge, credits, estimate_mark};
use crate::store::cost_log::{self, LoggedCall};
use crate::store::usage;
use crate::tools::engine::context::SessionContext;

/// Days in the chart, and days of the week that ends today.
const DAYS: i32 = 14;
const WEEK: i32 = 7;
/// Width of the longest bar, in columns.
const BAR: f64 = 24.0;

#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct UsageSum {
    turns: u64,
    tokens: Tokens,
    cost: f64,
    cost_estimated: bool,
    credits: f64,
}

pub(in crate::app::session) fn report(
    context: &SessionContext,
    cost: SessionCost,
) -> Outcome<String> {
    let now = context.clock.now();
    let (today, zone) = (now.date(), now.time_zone());
    let profile = context.profile();
    let first = back(today, DAYS - 1).to_zoned(zone.clone());
    let since = first.map_or(now.timestamp(), |first| first.timestamp());
    let calls = cost_log::calls_since(&context.paths, &profile, &context.ledger, since);
    let (days, models) = sums(calls.as_deref().unwrap_or_default(), today, zone);
    let week = back(today, WEEK - 1)..=today;
    let mut out = session(context, cost);
    let of_week = days.iter().filter(|(day, _)| week.contains(day));
    let total = of_week.fold(UsageSum::default(), |total, (_, sum)| total.plus(*sum));
    let period = format!(
        "Last {WEEK} days ({} to {}), profile {profile}",
        short(*week.start()),
        short(today)
    );
    out.push_str(&line(&period, total));
    out.push_str(&lifetime(context));
    if let Err(problem) = calls {
        let _ = writeln!(out, "\n{}", problem.one_line());
    }
    if !days.is_empty() {
        let _ = writeln!(out, "\nLast {DAYS} days, profile {profile}, by day");
        let rows: Vec<(String, UsageSum)> = (0..DAYS)
            .rev()
            .map(|ago| {
                let day = back(today, ago);
                let name = day.strftime("%a %d %b").to_string();
                (name, days.get(&day).copied().unwrap_or_default())
            })
            .collect();
        bars(&mut out, &rows);
        let _ = writeln!(out, "\nLast {DAYS} days, profile {profile}, by model");
        let mut rows: Vec<(String, UsageSum)> = models.into_iter().collect();
        rows.shared_sort_by(|(_, a), (_, b)| {
            let tokens = b.tokens.total().cmp(&a.tokens.total());
            b.cost.total_cmp(&a.cost).then(tokens)
        });
        rows.truncate(12);
        bars(&mut out, &rows);
    }
    Ok(out)
}

impl UsageSum {
    fn plus(self, other: Self) -> Self {
        Self {
            turns: self.turns + other.turns,
            tokens: Tokens::sum([self.tokens, other.tokens]),
            cost: self.cost + other.cost,
            cost_estimated: self.cost_estimated || other.cost_estimated,
            credits: self.credits + other.credits,
        }
    }
}

/// The date `days` before `today`.
fn back(today: Date, days: i32) -> Date {
    let span = jiff::Span::new().days(days);
    today.checked_sub(span).unwrap_or(today)
}

/// Such as `4 Mar`.
fn short(day: Date) -> String {
    day.strftime("%-d %b").to_string()
}

fn line(period: &str, sum: UsageSum) -> String {
    format!(
        "{period}: {}, {}{}{}\n",
        counted(sum.turns, "model call"),
        sum.tokens.words(),
        charge(", ", sum.turns, sum.cost, sum.cost_estimated),
        credits(", ", sum.credits)
    )
}

/// The session, and this run where that is something else: the tokens of earlier runs are not known.
fn session(context: &SessionContext, cost: SessionCost) -> String {
    let totals = context.ledger.totals();
    let sum = UsageSum {
        turns: totals.turns,
        tokens: totals.tokens(),
        cost: totals.cost,
        cost_estimated: totals.cost_estimated(),
        credits: totals.credits,
    };
    let mut out = match cost.run {
        None => line("This session", sum),
        Some(_) => {
            let session = match spent_words(cost.session) {
                words if words.is_empty() => "no cost yet".to_owned(),
                words => words,
            };
            format!("This session: {session}\n{}", line("This run", sum))
        }
    };
    if let Some(left) = totals.quota_left {
        let left = trim_decimals(left, 1);
        let _ = writeln!(out, "Copilot: {left} % of the plan's allowance is left.");
    }
    out
}

/// Sums per day and per model. Days after today come from a wrong clock and are left out.
fn sums(
    calls: &[LoggedCall],
    today: Date,
    zone: &TimeZone,
) -> (BTreeMap<Date, UsageSum>, BTreeMap<String, UsageSum>) {
    let mut days: BTreeMap<Date, UsageSum> = BTreeMap::new();
    let mut models: BTreeMap<String, UsageSum> = BTreeMap::new();
    for call in calls {
        let day = call.time.to_zoned(zone.clone()).date();
        if day > today {
            continue;
        }
        let model = models.entry(clip(&call.model, 32)).or_default();
        for sum in [days.entry(day).or_default(), model] {
            *sum = sum.plus(UsageSum {
                turns: 1,
                tokens: call.tokens,
                cost: call.cost,
                cost_estimated: call.cost_estimated,
                credits: call.credits,
            });
        }
    }
    (days, models)
}

/// One bar per row: by cost if anything was spent, else by tokens.
fn bars(out: &mut String, rows: &[(String, UsageSum)]) {
    let paid = rows.iter().any(|(_, sum)| sum.cost > 0.0);
    #[allow(clippy::cast_precision_loss)]
    let size = |sum: &UsageSum| {
        if paid {
            sum.cost
        } else {
            sum.tokens.total() as f64
        }
    };
    let most = rows.iter().map(|(_, sum)| size(sum)).fold(0.0, f64::max);
    let name = rows
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or_default();
    for (label, sum) in rows {
        let bar = bar(if most > 0.0 { size(sum) / most } else { 0.0 });
        let said = if sum.turns == 0 {
            String::new()
        } else {
            let tokens = counted(sum.tokens.total(), "token");
            let tokens = format!("{}{tokens}", estimate_mark(sum.tokens.estimated));
            let charge = charge("", sum.turns, sum.cost, sum.cost_estimated);
            match charge.is_empty() {
                true => tokens,
                false => format!("{charge}  {tokens}"),
            }
        };
        let line = format!("  {label:<name$}  {bar}  {said}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// A bar for a share between 0 and 1, in eighths of a column.
fn bar(share: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let eighths = (share.clamp(0.0, 1.0) * BAR * 8.0).round() as usize;
    // Never show a small amount as nothing.
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    let mut bar = "█".repeat(eighths / 8);
    bar.push_str(EIGHTHS.get(eighths % 8).copied().unwrap_or_default());
    bar
}

fn lifetime(context: &SessionContext) -> String {
    match usage::lifetime(&context.paths, &context.ledger) {
        Ok(None) => String::new(),
        Ok(Some(all)) => {
            let sum = UsageSum {
                turns: all.turns,
                tokens: all.tokens,
                cost: all.cost,
                cost_estimated: all.cost_estimated,
                credits: all.credits,
            };
            line("Lifetime, all profiles", sum)
        }
        Err(problem) => format!("Lifetime, all profiles: {}\n", problem.one_line()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use crate::store::sessions::record::Spent;
    use crate::tools::engine::policy::ToolPolicy;

    fn cost(run: Option<Spent>) -> SessionCost {
        let session = Spent {
            cost: 0.0123,
            ..Spent::default()
        };
        SessionCost { session, run }
    }

    #[test]
    fn a_session_of_several_runs_and_this_run_are_told_apart() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::from([("MARVIN_CONFIG_DIR", home.path().to_str().unwrap())]);
        let context = SessionContext::new(env, ToolPolicy::default());
        let report = report(&context, cost(Some(Spent::default()))).unwrap();
        let expected =
            "This session: $0.0123\nThis run: 0 model calls, 0 tokens in, 0 out, $0.0000\n";
        assert!(report.starts_with(expected), "{report}");
    }

    #[test]
    fn bars_show_days_and_models_to_scale() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::from([
            ("MARVIN_CONFIG_DIR", home.path().to_str().unwrap()),
            ("MARVIN_NOW", "2026-03-10T12:00:00+00:00[UTC]"),
            ("TZ", "UTC"),
        ]);
        let context = SessionContext::new(env, ToolPolicy::default());
        let log = context.paths.profile("main").unwrap().cost_log();
        std::fs::create_dir_all(log.parent().unwrap()).unwrap();
        let line = |ts: &str, model: &str, cost: f64| {
            format!(
                "{{\"ts\":\"{ts}\",\"model\":\"{model}\",\"input\":1000,\"output\":10,\"cost\":{cost}}}\n"
            )
        };
        let cached = |line: String, key: &str| line.replace("\"cost\"", key);
        let big = line("2026-03-10T08:00:00Z", "big", 0.5);
        let early = line("2026-03-03T23:00:00Z", "early", 0.125);
        let text = cached(big, r#""cached":600,"tokens_estimated":true,"cost""#)
            + "{torn\n"
            + &line("2026-03-09T08:00:00Z", "small", 0.25)
            + &cached(early, r#""estimated":true,"cost""#)
            + &line("2026-03-02T23:00:00Z", "local", 0.0)
            + &line("2026-01-01T08:00:00Z", "old", 9.0);
        std::fs::write(log, text).unwrap();
        let report = report(&context, cost(None)).unwrap();
        let row = |name: &str| {
            report
                .lines()
                .find(|line| line.contains(name))
                .unwrap()
                .to_owned()
        };
        let blocks = |line: &str| line.matches('█').count();
        assert_eq!(
            (blocks(&row("Tue 10 Mar")), blocks(&row("Mon 09 Mar"))),
            (24, 12)
        );
        assert_eq!((blocks(&row("big")), blocks(&row("small"))), (24, 12));
        assert!(!report.contains("old"), "{report}");
        // Each number is labelled with its period; the day before the week appears only in the chart.
        let week = "Last 7 days (4 Mar to 10 Mar), profile main: 2 model calls, ~2,000 tokens in (600 cached), 20 out, $0.7500";
        assert_eq!(row("Last 7 days"), week);
        assert!(row("Tue 03 Mar").contains("~$0.1250  ~1,010 tokens"));
        // What is free has no price.
        assert!(row("Mon 02 Mar").ends_with("02 Mar    1,010 tokens"));
        assert!(report.contains("Last 14 days, profile main, by day\n"));
        assert!(report.contains("Last 14 days, profile main, by model\n"));
        assert!(report.starts_with("This session: 0 model calls, 0 tokens in, 0 out, $0.0000\n"));
        assert!(row("Tue 10 Mar").contains(" $0.5000  ~1,010 tokens"));
    }

    #[test]
    fn one_is_not_counted_as_many() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::from([("MARVIN_CONFIG_DIR", home.path().to_str().unwrap())]);
        let context = SessionContext::new(env, ToolPolicy::default());
        let used = r#"{"total_llm_turns": 1, "total_cost": 0.5, "total_provider_tokens": {"groq": {"input": 1, "output": 0}}}"#;
        std::fs::write(context.paths.usage().unwrap(), used).unwrap();
        let report = report(&context, cost(None)).unwrap();
        let lifetime = "\nLifetime, all profiles: 1 model call, 1 token in, 0 out, $0.5000\n";
        assert!(report.contains(lifetime), "{report}");
    }

    #[test]
    fn the_smallest_share_still_shows() {
        assert_eq!((bar(0.0), bar(0.0001)), (String::new(), "▏".to_owned()));
        assert_eq!(bar(1.0).chars().count(), 24);
    }
}
