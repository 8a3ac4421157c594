//! Amounts in the status line: tokens, money, and how full the context is.

use crate::chat::usage::{Tokens, estimate_mark};

const GAUGE_COLUMNS: u64 = 5;
/// Amounts below one cent are not shown: a digit that changes with each message says nothing.
const LEAST_MONEY: f64 = 0.01;

/// `12k in (9k cached), 1.2k out`; `~` before it when that is an estimate.
pub(super) fn tokens(tokens: Tokens) -> String {
    let cached = match tokens.cached {
        0 => String::new(),
        cached => format!(" ({} cached)", short(cached)),
    };
    let mark = estimate_mark(tokens.estimated);
    let (input, output) = (short(tokens.input), short(tokens.output));
    format!("{mark}{input} in{cached}, {output} out")
}

/// `950`, `1.2k`, `12k`, `1.2M`. Cut off, not rounded up: 999,960 is not a million.
fn short(count: u64) -> String {
    let in_units = |unit: u64| match count / unit {
        whole @ 0..10 => format!("{whole}.{}", count % unit * 10 / unit),
        whole => whole.to_string(),
    };
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", in_units(1_000)),
        _ => format!("{}M", in_units(1_000_000)),
    }
}

/// `$0.25`, `~$1.20`; `None` below a cent.
pub(super) fn money(cost: f64, estimated: bool) -> Option<String> {
    let mark = estimate_mark(estimated);
    (cost >= LEAST_MONEY).then(|| format!("{mark}${cost:.2}"))
}

/// How full the context is, in eighths of a column.
pub(super) fn gauge(percent: u64) -> String {
    const EIGHTHS: [char; 8] = ['·', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (percent.min(100) * GAUGE_COLUMNS * 8).div_ceil(100);
    (0..GAUGE_COLUMNS)
        .map(|column| match eighths.saturating_sub(column * 8) {
            8.. => '█',
            some => usize::try_from(some)
                .ok()
                .and_then(|at| EIGHTHS.get(at))
                .copied()
                .unwrap_or('·'),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_estimates_marked() {
        for (count, expected) in [
            (999, "999"),
            (1_000, "1.0k"),
            (9_999, "9.9k"),
            (12_345, "12k"),
            (999_960, "999k"),
            (1_250_000, "1.2M"),
            (u64::MAX, "18446744073709M"),
        ] {
            assert_eq!(short(count), expected);
        }
        assert_eq!(money(0.024, false).as_deref(), Some("$0.02"));
        assert_eq!(money(1.2, true).as_deref(), Some("~$1.20"));
        assert_eq!(money(0.0099, true), None);
        let tokens_of = Tokens {
            input: 1_200,
            cached: 900,
            output: 34,
            estimated: true,
            ..Tokens::default()
        };
        assert_eq!(tokens(tokens_of), "~1.2k in (900 cached), 34 out");
    }
}
