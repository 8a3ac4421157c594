//! Finds the lines of a text that contain a price, with the name of the item.

use std::sync::LazyLock;

use regex::Regex;

/// Maximum lines with prices that are shown.
const MAX_LINES: usize = 200;
/// Maximum characters of a line with a price; longer ones are prose.
const MAX_LINE_CHARS: usize = 300;

/// An amount with its currency, before or after it, or two decimals at the end of a line.
static PRICE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let money =
        r"(?:€|\$|£|¥|₹|₩|₽|₺|zł|Kč|kr\.?|Fr\.?|CHF|EUR|USD|GBP|SEK|NOK|DKK|PLN|CZK|HUF|Ft)";
    let amount = r"\d{1,3}(?:[.,' ]?\d{3})*(?:[.,](?:\d{1,2}|-|–))?";
    Regex::new(&format!(
        r"(?:^|[^\w.,])(?:{money}\s?{amount}|{amount}\s?{money}(?:\W|$)|\d{{1,4}}[.,]\d{{2}}\s*$)"
    ))
    .ok()
});

/// The lines of `text` with prices, each with the name before a price on its own line; `None` without prices.
pub(super) fn prices(text: &str) -> Option<String> {
    let price = PRICE.as_ref()?;
    let mut out = String::new();
    let mut count = 0;
    let mut before: Option<&str> = None;
    for line in text
        .lines()
        .map(without_markers)
        .filter(|line| !line.is_empty())
    {
        if line.chars().count() > MAX_LINE_CHARS || !price.is_match(line) {
            before = Some(line);
            continue;
        }
        if count == MAX_LINES {
            break;
        }
        count += 1;
        let alone = !price
            .replace_all(line, " ")
            .chars()
            .any(char::is_alphabetic);
        match before.filter(|name| alone && name.chars().count() <= MAX_LINE_CHARS) {
            Some(name) => out.push_str(&format!("{name}: {line}\n")),
            None => out.push_str(&format!("{line}\n")),
        }
        before = None;
    }
    out.truncate(out.trim_end().len());
    (!out.is_empty()).then_some(out)
}

/// A line without list and heading markers.
fn without_markers(line: &str) -> &str {
    let line = line.trim();
    line.trim_start_matches(['#', '-', '*', '|', '•']).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn price_lines_come_with_their_names() {
        let text = "# Lunch\nOpen since 1998, call 030 1234567\n\n- Soup of the day  6,50 €\nPizza Margherita\n$12.90\n\
                    Wine | 0.2l | 7.00\nTasting menu\nfive courses\nCHF 1'250.-\nSince 12.10.2024\n3 for EUR 5";
        assert_eq!(
            prices(text).unwrap(),
            "Soup of the day  6,50 €\nPizza Margherita: $12.90\nWine | 0.2l | 7.00\nfive courses: CHF 1'250.-\n3 for EUR 5"
        );
        for none in ["", "1998", "Room 12.5", "version 1.2.30 of it", "a\n\nb"] {
            assert_eq!(prices(none), None, "{none}");
        }
    }
}
