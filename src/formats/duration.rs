//! Durations as people write them.

use std::time::Duration;

/// `30m`, `2h`, `1h30m`, `90s`, `1d12h`, `1 h 30 min`; `None` for anything else.
pub(crate) fn read(text: &str) -> Option<Duration> {
    let text: String = text
        .to_lowercase()
        .chars()
        .filter(|c| !c.is_whitespace())
        .collect();
    let mut rest = text.strip_prefix('+').unwrap_or(&text);
    let mut total: u64 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, more) = rest.split_at_checked(digits)?;
        let letters = more
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(more.len());
        let (unit, more) = more.split_at_checked(letters)?;
        let seconds = match unit {
            "s" | "sec" | "secs" | "second" | "seconds" => 1,
            "m" | "min" | "mins" | "minute" | "minutes" => 60,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3_600,
            "d" | "day" | "days" => 86_400,
            "w" | "week" | "weeks" => 604_800,
            _ => return None,
        };
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(seconds)?)?;
        rest = more;
    }
    Some(Duration::from_secs(total))
}

/// To the nearest second.
pub(crate) fn rounded(time: Duration) -> Duration {
    Duration::from_secs(time.saturating_add(Duration::from_millis(500)).as_secs())
}

/// `1 h 5 min`, `40 s`.
pub(crate) fn words(time: Duration) -> String {
    let all = time.as_secs();
    let parts = [
        (all / 86_400, "d"),
        (all / 3_600 % 24, "h"),
        (all / 60 % 60, "min"),
        (all % 60, "s"),
    ];
    let shown: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count} {unit}"))
        .collect();
    if shown.is_empty() {
        "0 s".to_owned()
    } else {
        shown.join(" ")
    }
}

/// The same in few columns, for what changes while somebody watches: `40s`, `3m 05s`, `1h 02m`.
pub(crate) fn compact(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        seconds => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        for (text, seconds) in [
            ("30m", 1_800),
            ("1h30m", 5_400),
            (" 1 h 30 min", 5_400),
            ("90s", 90),
            ("1d12h", 129_600),
            ("0m", 0),
        ] {
            assert_eq!(read(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for text in [
            "",
            "m",
            "5",
            "1h30",
            "5x",
            "-5m",
            "1.5h",
            "99999999999999999999h",
            "18446744073709551615w",
            "٣m",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(words(Duration::from_secs(90_061)), "1 d 1 h 1 min 1 s");
        for (seconds, short) in [(0, "0s"), (185, "3m 05s"), (90_061, "25h 01m")] {
            assert_eq!(compact(Duration::from_secs(seconds)), short);
        }
    }
}
