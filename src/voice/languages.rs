//! Languages as the services name them: English names in transcripts, ISO 639-1 codes, and espeak-ng's voices.

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Language {
    /// ISO 639-1.
    pub code: &'static str,
    /// In English, as answers of Whisper name it.
    pub name: &'static str,
    /// The voice of espeak-ng.
    pub voice: &'static str,
}

const fn language(code: &'static str, name: &'static str) -> Language {
    Language {
        code,
        name,
        voice: code,
    }
}

impl Language {
    const fn voice(mut self, voice: &'static str) -> Self {
        self.voice = voice;
        self
    }
}

#[rustfmt::skip]
static LANGUAGES: &[Language] = &[
    language("af", "Afrikaans"), language("sq", "Albanian"), language("ar", "Arabic"), language("hy", "Armenian"),
    language("az", "Azerbaijani"), language("eu", "Basque"), language("be", "Belarusian"), language("bn", "Bengali"),
    language("bs", "Bosnian"), language("bg", "Bulgarian"), language("ca", "Catalan"), language("zh", "Chinese").voice("cmn"),
    language("hr", "Croatian"), language("cs", "Czech"), language("da", "Danish"), language("nl", "Dutch"),
    language("en", "English"), language("et", "Estonian"), language("fi", "Finnish"), language("fr", "French"),
    language("ka", "Georgian"), language("de", "German"), language("el", "Greek"), language("gu", "Gujarati"),
    language("he", "Hebrew"), language("hi", "Hindi"), language("hu", "Hungarian"), language("is", "Icelandic"),
    language("id", "Indonesian"), language("it", "Italian"), language("ja", "Japanese"), language("kn", "Kannada"),
    language("kk", "Kazakh"), language("ko", "Korean"), language("lv", "Latvian"), language("lt", "Lithuanian"),
    language("mk", "Macedonian"), language("ms", "Malay"), language("ml", "Malayalam"), language("mr", "Marathi"),
    language("ne", "Nepali"), language("no", "Norwegian").voice("nb"), language("fa", "Persian"), language("pl", "Polish"),
    language("pt", "Portuguese"), language("pa", "Punjabi"), language("ro", "Romanian"), language("ru", "Russian"),
    language("sr", "Serbian"), language("si", "Sinhala"), language("sk", "Slovak"), language("sl", "Slovenian"),
    language("es", "Spanish"), language("sw", "Swahili"), language("sv", "Swedish"), language("ta", "Tamil"),
    language("te", "Telugu"), language("th", "Thai"), language("tr", "Turkish"), language("uk", "Ukrainian"),
    language("ur", "Urdu"), language("vi", "Vietnamese"), language("cy", "Welsh"),
];

/// The language with this code or English name, in any case; a tag such as `en_US` counts by its first part.
pub(crate) fn find(name: &str) -> Option<&'static Language> {
    let name = name.trim();
    let code = name.split(['-', '_']).next().unwrap_or_default();
    LANGUAGES.iter().find(|language| {
        language.name.eq_ignore_ascii_case(name) || language.code.eq_ignore_ascii_case(code)
    })
}

#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = &'static Language> {
    LANGUAGES.iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_names_and_tags_are_found() {
        for (name, code) in [
            ("English", Some("en")),
            ("german", Some("de")),
            ("pt", Some("pt")),
            ("en_US", Some("en")),
            ("zh-Hant", Some("zh")),
            ("Klingon", None),
            ("", None),
        ] {
            assert_eq!(find(name).map(|language| language.code), code, "{name}");
        }
    }

    #[test]
    fn codes_and_names_are_unique() {
        for (index, one) in LANGUAGES.iter().enumerate() {
            assert_eq!(one.code.len(), 2);
            let others = LANGUAGES.iter().skip(index + 1);
            assert!(
                others
                    .clone()
                    .all(|other| other.code != one.code && other.name != one.name),
                "{}",
                one.name
            );
        }
    }
}
