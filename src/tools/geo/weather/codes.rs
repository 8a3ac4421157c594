//! The WMO weather codes (code table 4677) that Open-Meteo uses.

/// The description of a code; `code N` for one that is not in the table.
pub(crate) fn words(code: i64) -> String {
    let known = match code {
        0 => "clear sky",
        1 => "mainly clear",
        2 => "partly cloudy",
        3 => "overcast",
        45 => "fog",
        48 => "rime fog",
        51 => "light drizzle",
        53 => "drizzle",
        55 => "dense drizzle",
        56 => "light freezing drizzle",
        57 => "freezing drizzle",
        61 => "light rain",
        63 => "rain",
        65 => "heavy rain",
        66 => "light freezing rain",
        67 => "freezing rain",
        71 => "light snow",
        73 => "snow",
        75 => "heavy snow",
        77 => "snow grains",
        80 => "light rain showers",
        81 => "rain showers",
        82 => "violent rain showers",
        85 => "light snow showers",
        86 => "heavy snow showers",
        95 => "thunderstorm",
        96 => "thunderstorm, hail",
        99 => "thunderstorm, heavy hail",
        _ => return format!("code {code}"),
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_table_has_words_of_its_own() {
        let codes = [
            0, 1, 2, 3, 45, 48, 51, 53, 55, 56, 57, 61, 63, 65, 66, 67, 71, 73, 75, 77, 80, 81, 82,
            85, 86, 95, 96, 99,
        ];
        let mut all: Vec<String> = codes.iter().map(|code| words(*code)).collect();
        assert!(
            all.iter().all(|words| !words.starts_with("code")),
            "{all:?}"
        );
        all.sort();
        all.dedup();
        assert_eq!(all.len(), codes.len());
        assert_eq!((words(4), words(-1)), ("code 4".into(), "code -1".into()));
    }
}
