//! Temperature and rain per day as bars.

use crate::formats::distance::DistanceUnit;
use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

use super::table::{Day, WIDE, amount, degrees, fitted, unit};

/// Width of the temperature scale in columns.
const WARM: usize = 36;
/// Width of the rain scale in columns.
const WET: usize = 24;
/// Blocks of one to eight eighths of a column.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// One bar per day from the lowest to the highest temperature, all on one scale, and one for the rain; empty for a single day.
pub(super) fn chart(value: &Value, days: &[Day], units: DistanceUnit) -> String {
    let pairs = days.iter().filter_map(|day| day.low.zip(day.high));
    let (coldest, warmest) = pairs.fold(
        (f64::INFINITY, f64::NEG_INFINITY),
        |(least, limit), (low, high)| (least.min(low), limit.max(high)),
    );
    if days.len() < 2 || coldest > warmest {
        return String::new();
    }
    let wettest = days.iter().filter_map(|day| day.rain).fold(0.0, f64::max);
    let rain_known = days.iter().any(|day| day.rain.is_some());
    let first = days.iter().map(|day| day.name.width()).max().unwrap_or(0);
    let (warm, wet) = (
        unit(value, "daily", "temperature_2m_max", units),
        unit(value, "daily", "precipitation_sum", units),
    );
    let (low, high) = (degrees(coldest, &warm), degrees(warmest, &warm));
    let gap = (WARM + 2).saturating_sub(low.width() + high.width());
    let mut head = format!("{}  {low}{}{high}", " ".repeat(first), " ".repeat(gap));
    if rain_known {
        let limit = match wettest > 0.0 {
            true => format!("Precip up to {}", amount(wettest, &wet)),
            false => "No precip".to_owned(),
        };
        head.push_str("  ");
        head.push_str(&limit);
    }
    let mut lines = vec![head];
    for day in days {
        let bar = match day.low.zip(day.high) {
            Some((low, high)) => span(low, high, coldest, warmest),
            None => " ".repeat(WARM),
        };
        let pad = " ".repeat(first.saturating_sub(day.name.width()));
        let rain = length(day.rain.unwrap_or(0.0), wettest);
        lines.push(
            format!("{}{pad}  │{bar}│  {rain}", day.name)
                .trim_end()
                .to_owned(),
        );
    }
    let lines: Vec<String> = lines.iter().map(|line| fitted(line, WIDE)).collect();
    lines.join("\n")
}

/// A bar over part of the scale, in half columns.
fn span(low: f64, high: f64, least: f64, max: f64) -> String {
    let halves = |at: f64| {
        let part = if max > least {
            (at - least) / (max - least)
        } else {
            0.0
        };
        scaled(part, WARM * 2)
    };
    let (from, to) = (
        halves(low),
        if max > least { halves(high) } else { WARM * 2 },
    );
    // A day without a range still gets a mark.
    let from = from.min(WARM * 2 - 1).min(to);
    let to = to.max(from + 1);
    let column = |index: usize| {
        let filled = |half: usize| (from..to).contains(&half);
        match (filled(index * 2), filled(index * 2 + 1)) {
            (true, true) => '█',
            (true, false) => '▌',
            (false, true) => '▐',
            (false, false) => ' ',
        }
    };
    (0..WARM).map(column).collect()
}

/// A bar from the left in eighths of a column; any rain is visible.
fn length(rain: f64, max: f64) -> String {
    if rain <= 0.0 || max <= 0.0 {
        return String::new();
    }
    let eighths = scaled(rain / max, WET * 8).max(1);
    let mut bar = "█".repeat(eighths / 8);
    bar.extend((eighths % 8).checked_sub(1).and_then(|at| EIGHTHS.get(at)));
    bar
}

/// A share of `whole` as a count.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
fn scaled(part: f64, whole: usize) -> usize {
    ((part * whole as f64).round().max(0.0) as usize).min(whole)
}
