//! The days as a table of at most eighty columns.

use jiff::civil::Date;
use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

use super::codes;
use crate::base::json::JsonExt;
use crate::base::text::{escape_controls, trim_decimals};
use crate::formats::distance::DistanceUnit;

/// Assumed width of the terminal in columns.
pub(super) const WIDE: usize = 80;
/// Shown for an unknown value.
const DASH: &str = "-";

pub(super) struct Day {
    /// Such as `Mon 4 May`.
    pub(super) name: String,
    pub(super) code: Option<i64>,
    pub(super) high: Option<f64>,
    pub(super) low: Option<f64>,
    pub(super) rain: Option<f64>,
    chance: Option<f64>,
    wind: Option<f64>,
    rise: Option<String>,
    set: Option<String>,
}

/// The days of the response, at most `max`. Its lists are parallel, and any of them may be missing, short or full of nulls.
pub(super) fn days(value: &Value, max: usize) -> Vec<Day> {
    let times = value.list("daily/time");
    let day = |(index, time): (usize, &Value)| {
        let number = |key: &str| sound(value, &format!("daily/{key}/{index}"));
        let text = time.as_str().unwrap_or_default();
        let clock = |key: &str| time_of(value.text(&format!("daily/{key}/{index}"))?);
        let (mut rise, mut set) = (clock("sunrise"), clock("sunset"));
        if rise == set {
            // Polar day or night: there is no sunrise or sunset.
            (rise, set) = (None, None);
        }
        Day {
            name: name(text, index),
            code: value.whole(&format!("daily/weather_code/{index}")),
            high: number("temperature_2m_max"),
            low: number("temperature_2m_min"),
            rain: number("precipitation_sum").map(|rain| rain.max(0.0)),
            chance: number("precipitation_probability_max"),
            wind: number("wind_speed_10m_max"),
            rise,
            set,
        }
    };
    let days: Vec<Day> = times.iter().enumerate().take(max).map(day).collect();
    // Days without data are dropped when there are several and none has any; a single day keeps its row.
    match days.iter().any(Day::is_known) {
        true => days,
        false => Vec::new(),
    }
}

impl Day {
    fn is_known(&self) -> bool {
        let numbers = [self.high, self.low, self.rain, self.chance, self.wind];
        numbers.iter().any(Option::is_some)
            || self.code.is_some()
            || self.rise.is_some()
            || self.set.is_some()
    }
}

fn name(date: &str, index: usize) -> String {
    match date.parse::<Date>() {
        Ok(date) => format!(
            "{} {:>2} {}",
            date.strftime("%a"),
            date.day(),
            date.strftime("%b")
        ),
        Err(_) if date.trim().is_empty() => format!("Day {}", index + 1),
        Err(_) => fitted(&escape_controls(date.trim()), 10),
    }
}

/// `06:54` from `2026-05-04T06:54`.
fn time_of(text: &str) -> Option<String> {
    let (date, time) = text.split_once('T')?;
    let time: jiff::civil::Time = time.parse().ok()?;
    // 1970 stands for an unknown time.
    (!date.starts_with("1970")).then(|| time.strftime("%H:%M").to_string())
}

/// A number that is plausible for weather.
pub(super) fn sound(value: &Value, path: &str) -> Option<f64> {
    value.number(path).filter(|number| number.abs() < 1e5)
}

/// The unit of a variable according to the response, else as requested.
pub(super) fn unit(value: &Value, group: &str, key: &str, units: DistanceUnit) -> String {
    if let Some(unit) = value.text(&format!("{group}_units/{key}")) {
        return match unit {
            "mp/h" => "mph".to_owned(),
            "inch" => "in".to_owned(),
            unit => fitted(&escape_controls(unit), 6),
        };
    }
    let miles = units == DistanceUnit::Mi;
    let unit = match key {
        _ if key.contains("temperature") => ["°C", "°F"],
        _ if key.contains("wind_speed") => ["km/h", "mph"],
        _ if key.contains("humidity") || key.contains("probability") => ["%", "%"],
        _ => ["mm", "in"],
    };
    unit.get(usize::from(miles))
        .copied()
        .unwrap_or_default()
        .to_owned()
}

/// A number with no more decimals than its unit deserves.
pub(super) fn plain(number: f64, unit: &str) -> String {
    trim_decimals(number, if unit == "in" { 2 } else { 1 })
}

pub(super) fn amount(number: f64, unit: &str) -> String {
    format!("{} {unit}", plain(number, unit))
}

/// Always one decimal, so that numbers align; never `-0.0`.
fn tenths(number: f64) -> String {
    let text = format!("{number:.1}");
    if text == "-0.0" {
        "0.0".to_owned()
    } else {
        text
    }
}

/// A temperature with its unit, as in the table.
pub(super) fn degrees(number: f64, unit: &str) -> String {
    format!("{} {unit}", tenths(number))
}

/// A column: two heading lines and a cell per day.
struct Column {
    heads: [String; 2],
    cells: Vec<Option<String>>,
    to_right: bool,
}

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().flatten().map(|cell| cell.width());
        let heads = self.heads.iter().map(|head| head.width());
        cells.chain(heads).max().unwrap_or(0)
    }
}

/// The table; empty without days. Columns without data are left out.
pub(super) fn table(value: &Value, days: &[Day], units: DistanceUnit) -> String {
    if days.is_empty() {
        return "No days were given.".to_owned();
    }
    let numbers = |head: &str, key: &str, pick: fn(&Day) -> Option<f64>| {
        let unit = unit(value, "daily", key, units);
        let cell = |day: &Day| match key {
            "precipitation_sum" | "precipitation_probability_max" => Some(plain(pick(day)?, &unit)),
            _ => Some(tenths(pick(day)?)),
        };
        Column {
            cells: days.iter().map(cell).collect(),
            heads: [head.to_owned(), unit],
            to_right: true,
        }
    };
    let words = |head: &str, pick: &dyn Fn(&Day) -> Option<String>| Column {
        heads: head.split_once('/').map_or_else(
            || [head.to_owned(), String::new()],
            |(first, second)| [first.to_owned(), second.to_owned()],
        ),
        cells: days.iter().map(pick).collect(),
        to_right: false,
    };
    let mut columns = vec![
        words("Day", &|day| Some(day.name.clone())),
        words("Weather", &|day| day.code.map(codes::words)),
        numbers("High", "temperature_2m_max", |day| day.high),
        numbers("Low", "temperature_2m_min", |day| day.low),
        numbers("Precip", "precipitation_sum", |day| day.rain),
        numbers("Risk", "precipitation_probability_max", |day| day.chance),
        numbers("Wind", "wind_speed_10m_max", |day| day.wind),
        words("Sun/up", &|day| day.rise.clone()),
        words("Sun/down", &|day| day.set.clone()),
    ];
    columns.retain(|column| column.cells.iter().any(Option::is_some));
    let rest: usize = columns.iter().map(|column| column.width() + 2).sum();
    let over = rest.saturating_sub(WIDE + 2);
    let mut lines = Vec::new();
    for at in 0..days.len() + 2 {
        let mut line = String::new();
        for column in &columns {
            let cell = match at.checked_sub(2) {
                None => column.heads.get(at).map_or("", String::as_str),
                Some(day) => column
                    .cells
                    .get(day)
                    .and_then(Option::as_deref)
                    .unwrap_or(DASH),
            };
            let is_weather = column.heads.first().is_some_and(|head| head == "Weather");
            let width = column.width()
                - if is_weather {
                    over.min(column.width().saturating_sub(8))
                } else {
                    0
                };
            let cell = fitted(cell, width);
            let gap = " ".repeat(width.saturating_sub(cell.width()));
            match column.to_right {
                true => line.push_str(&format!("{gap}{cell}  ")),
                false => line.push_str(&format!("{cell}{gap}  ")),
            }
        }
        // Without units there is no second heading line.
        if at != 1 || !line.trim().is_empty() {
            lines.push(fitted(line.trim_end(), WIDE));
        }
    }
    lines.join("\n")
}

/// The text cut to `width` columns.
pub(super) fn fitted(text: &str, width: usize) -> String {
    let mut text = text.to_owned();
    let mut cut = false;
    while text.width() + usize::from(cut) > width && text.pop().is_some() {
        cut = true;
    }
    if cut {
        text.push('…');
    }
    text
}
