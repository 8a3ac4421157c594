//! Ranks search hits: how many words of the query are in a track's title and artists, and the reverse.

/// Minimum score of a track that is added without asking.
const MIN_SCORE: f64 = 0.45;

pub(super) struct TrackName<'a> {
    pub(super) title: &'a str,
    pub(super) artists: Vec<&'a str>,
}

/// The best of `hits`, the first among equals; `None` when none is similar to the query.
pub(super) fn best(requested: &str, hits: &[TrackName<'_>]) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (index, hit) in hits.iter().enumerate() {
        let score = score(requested, hit);
        if score >= MIN_SCORE && best.is_none_or(|(_, max)| score > max + 1e-9) {
            best = Some((index, score));
        }
    }
    best.map(|(index, _)| index)
}

/// From 0 (nothing in common) to 1 (the same words). 0 if the title does not occur in the query, whoever the artist is.
fn score(requested: &str, hit: &TrackName<'_>) -> f64 {
    let requested = words(requested);
    let title = words(hit.title);
    let core_title = words(core_title(hit.title));
    let artists: Vec<Vec<String>> = hit.artists.iter().map(|artist| words(artist)).collect();
    let all: Vec<String> = title
        .iter()
        .chain(artists.iter().flatten())
        .cloned()
        .collect();
    let main = share(&core_title, &requested);
    if main < 0.34 {
        return 0.0;
    }
    let artist = artists
        .iter()
        .map(|artist| share(artist, &requested))
        .fold(0.0, f64::max);
    0.5 * share(&requested, &all) + 0.25 * main + 0.1 * share(&title, &requested) + 0.15 * artist
}

/// A title without suffixes in brackets or after a dash: "Remastered 2011", "(feat. Bob)".
fn core_title(title: &str) -> &str {
    let end = [" (", " [", " - "]
        .iter()
        .filter_map(|mark| title.find(mark))
        .min();
    let short = title.get(..end.unwrap_or(title.len())).unwrap_or(title);
    if short.trim().is_empty() {
        title
    } else {
        short
    }
}

/// Lower-case words without punctuation and without common connectives.
fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace(['\'', '’'], "");
    let all: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    let telling: Vec<String> = all
        .iter()
        .filter(|word| !matches!(word.as_str(), "by" | "feat" | "ft" | "the" | "and" | "a"))
        .cloned()
        .collect();
    if telling.is_empty() { all } else { telling }
}

/// The share of `these` words that occur among `others`.
fn share(these: &[String], others: &[String]) -> f64 {
    if these.is_empty() {
        return 0.0;
    }
    let found = these
        .iter()
        .filter(|word| others.iter().any(|other| similar(word, other)));
    #[allow(clippy::cast_precision_loss)]
    let share = found.count() as f64 / these.len() as f64;
    share
}

/// True for equal words, for one different letter in a longer word, or for one word within the other in scripts without spaces.
fn similar(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    if !a.is_ascii() && !b.is_ascii() && (a.contains(b) || b.contains(a)) {
        return true;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().min(b.len()) < 4 || a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let start = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let rest = |word: &[char]| word.len().saturating_sub(start);
    let end = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    rest(&a).max(rest(&b)) <= end.saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pick(requested: &str, hits: &[(&'static str, &'static str)]) -> Option<usize> {
        let hits: Vec<TrackName<'_>> = hits
            .iter()
            .map(|(title, artist)| TrackName {
                title,
                artists: artist.split(", ").collect(),
            })
            .collect();
        best(requested, &hits)
    }

    #[test]
    fn the_intended_track_is_chosen() {
        let funk = [
            ("Uptown Funk - Karaoke Version", "Sing It"),
            ("Uptown Girl", "Billy Joel"),
            ("Uptown Funk", "Mark Ronson, Bruno Mars"),
        ];
        assert_eq!(pick("Uptown Funk by Bruno Mars", &funk), Some(2));
        assert_eq!(pick("uptown girl", &funk), Some(1));
        assert_eq!(pick("Uptwn Funk Mark Ronson", &funk), Some(2));
        let jude = [
            ("Hey Jude - Live", "The Beatles"),
            ("Hey Jude - Remastered 2015", "The Beatles"),
            ("Hey Jude", "Wilson Pickett"),
        ];
        assert_eq!(pick("The Beatles - Hey Jude", &jude), Some(0));
        assert_eq!(pick("hey jude wilson pickett", &jude), Some(2));
        assert_eq!(
            pick(
                "夜に駆ける YOASOBI",
                &[("怪物", "YOASOBI"), ("夜に駆ける", "YOASOBI")]
            ),
            Some(1)
        );
        assert_eq!(pick("Beyonce Halo", &[("Halo", "Beyoncé")]), Some(0));
    }

    #[test]
    fn the_same_artist_is_not_the_same_song() {
        assert_eq!(pick("Adele Hello", &[("Skyfall", "Adele")]), None);
        assert_eq!(pick("zzz", &[("Skyfall", "Adele")]), None);
        assert_eq!(pick("", &[("Skyfall", "Adele")]), None);
        assert_eq!(pick("The The", &[("The", "The The")]), Some(0));
    }

    proptest! {
        #[test]
        fn a_score_is_between_0_and_1(requested in ".{0,30}", title in ".{0,30}", artist in ".{0,20}") {
            let score = score(&requested, &TrackName { title: &title, artists: vec![&artist] });
            prop_assert!((0.0..=1.000_001).contains(&score));
        }

        #[test]
        fn title_and_artist_find_the_track(title in "[a-z]{4,9}( [a-z]{4,9}){0,2}", artist in "[a-z]{4,9}") {
            let hits = [TrackName { title: "qqqqqqqqqqqq", artists: vec![&artist] }, TrackName { title: &title, artists: vec![&artist] }];
            prop_assert_eq!(best(&format!("{artist} {title}"), &hits), Some(1));
        }
    }
}
