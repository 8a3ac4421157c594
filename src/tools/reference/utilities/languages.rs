//! Languages by code or name (ISO 639-1, English names and some native ones).

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, single_spaced};

/// Codes and names, a language a line; the first name is shown.
const LANGUAGES: &str = "\
af=Afrikaans
am=Amharic
ar=Arabic|العربية
as=Assamese
az=Azerbaijani
be=Belarusian
bg=Bulgarian|български
bn=Bengali|Bangla
bo=Tibetan
br=Breton
bs=Bosnian
ca=Catalan|català
co=Corsican
cs=Czech|čeština
cy=Welsh|Cymraeg
da=Danish|dansk
de=German|Deutsch
dv=Maldivian|Dhivehi
dz=Dzongkha
el=Greek|ελληνικά
en=English
eo=Esperanto
es=Spanish|español|Castilian
et=Estonian|eesti
eu=Basque|euskara
fa=Persian|Farsi|فارسی
fi=Finnish|suomi
fj=Fijian
fo=Faroese
fr=French|français
fy=Frisian|West Frisian
ga=Irish|Gaeilge
gd=Scottish Gaelic|Scots Gaelic
gl=Galician|galego
gn=Guarani
gu=Gujarati
gv=Manx
ha=Hausa
he=Hebrew|עברית
hi=Hindi|हिन्दी
hr=Croatian|hrvatski
ht=Haitian Creole|Haitian
hu=Hungarian|magyar
hy=Armenian
id=Indonesian|Bahasa Indonesia
ig=Igbo
is=Icelandic|íslenska
it=Italian|italiano
ja=Japanese|日本語
jv=Javanese
ka=Georgian
kk=Kazakh
kl=Greenlandic
km=Khmer
kn=Kannada
ko=Korean|한국어
ku=Kurdish
ky=Kyrgyz
la=Latin
lb=Luxembourgish
ln=Lingala
lo=Lao
lt=Lithuanian|lietuvių
lv=Latvian|latviešu
mg=Malagasy
mi=Maori|Māori
mk=Macedonian
ml=Malayalam
mn=Mongolian
mr=Marathi
ms=Malay|Bahasa Melayu
mt=Maltese
my=Burmese
nb=Norwegian Bokmål|Bokmål|bokmal
ne=Nepali
nl=Dutch|Nederlands|Flemish
nn=Norwegian Nynorsk|Nynorsk
no=Norwegian|norsk
ny=Chichewa|Nyanja
oc=Occitan
or=Odia|Oriya
pa=Punjabi|Panjabi
pl=Polish|polski
ps=Pashto
pt=Portuguese|português
qu=Quechua
ro=Romanian|română|Moldovan
ru=Russian|русский
rw=Kinyarwanda
sa=Sanskrit
sd=Sindhi
si=Sinhala|Sinhalese
sk=Slovak|slovenčina
sl=Slovenian|Slovene|slovenščina
sm=Samoan
sn=Shona
so=Somali
sq=Albanian|shqip
sr=Serbian|српски|srpski
st=Sesotho
su=Sundanese
sv=Swedish|svenska
sw=Swahili|Kiswahili
ta=Tamil
te=Telugu
tg=Tajik
th=Thai|ไทย
ti=Tigrinya
tk=Turkmen
tl=Tagalog|Filipino
tn=Tswana
to=Tongan
tr=Turkish|Türkçe
tt=Tatar
ug=Uyghur
uk=Ukrainian|українська
ur=Urdu
uz=Uzbek
vi=Vietnamese|Tiếng Việt
wo=Wolof
xh=Xhosa
yi=Yiddish
yo=Yoruba
zh=Chinese|Mandarin|中文|汉语|漢語
zu=Zulu
en-GB=British English
en-US=American English
pt-BR=Brazilian Portuguese|Brazilian
pt-PT=European Portuguese
zh-CN=Simplified Chinese|Chinese (simplified)|简体中文
zh-TW=Traditional Chinese|Chinese (traditional)|繁體中文";

/// Every language: its code, and its names separated by `|`.
fn languages() -> impl Iterator<Item = (&'static str, &'static str)> {
    LANGUAGES.lines().filter_map(|line| line.split_once('='))
}

/// Obsolete codes, and country codes that are often used for a language.
const ALIASES: [(&str, &str); 9] = [
    ("iw", "he"),
    ("ji", "yi"),
    ("in", "id"),
    ("jp", "ja"),
    ("cn", "zh"),
    ("gr", "el"),
    ("ua", "uk"),
    ("cz", "cs"),
    ("dk", "da"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Language {
    /// Its code: `en`, `pt-BR`, `zh-Hant`, `ceb`.
    pub(super) code: String,
}

impl Language {
    /// Its English name, else its code.
    pub(super) fn name(&self) -> &str {
        named(&self.code).unwrap_or(&self.code)
    }
}

fn named(code: &str) -> Option<&'static str> {
    let (_, names) = languages().find(|(own, _)| *own == code)?;
    names.split('|').next()
}

/// Finds a language by code or name.
///
/// # Errors
/// An unknown one, with the most similar.
pub(super) fn language(text: &str) -> Outcome<Language> {
    let line = single_spaced(text);
    let lower = line.to_lowercase();
    let by_name =
        languages().find(|(_, names)| names.split('|').any(|name| name.to_lowercase() == lower));
    if let Some((code, _)) = by_name {
        return Ok(Language {
            code: code.to_owned(),
        });
    }
    if let Some(code) = tag(&line) {
        return Ok(Language { code });
    }
    let shown = clip(&escape_controls(&line), 40);
    let problem = Problem::input(format!("\"{shown}\" is not a known language."));
    let names = languages().flat_map(|(_, names)| names.split('|'));
    let form = "Give a code such as en, it or pt-BR, or an English name such as Italian.";
    Err(problem.near_or(&clip(&line, 40), names, form))
}

/// A language tag in standard capitalization (BCP 47): two-letter codes must be known, three-letter codes need not.
fn tag(text: &str) -> Option<String> {
    let mut parts = text.split(['-', '_']);
    let first = parts.next()?.to_ascii_lowercase();
    let other = ALIASES.iter().find(|(own, _)| *own == first);
    let first = other.map_or(first, |(_, code)| (*code).to_owned());
    let letters = first.bytes().all(|b| b.is_ascii_lowercase());
    if !letters || (named(&first).is_none() && first.len() != 3) {
        return None;
    }
    let mut out = first;
    for part in parts {
        if !(2..=8).contains(&part.len()) || !part.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return None;
        }
        out.push('-');
        match part.len() {
            2 => out.push_str(&part.to_ascii_uppercase()),
            4 => out.push_str(&crate::base::text::capitalize(&part.to_ascii_lowercase())),
            _ => out.push_str(&part.to_ascii_lowercase()),
        }
    }
    (out.len() <= 20).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use proptest::prelude::*;

    #[test]
    fn languages_are_found_by_code_and_name() {
        for (text, code) in [
            ("en", "en"),
            ("IT", "it"),
            ("Italian", "it"),
            (" brazilian  portuguese ", "pt-BR"),
            ("pt_br", "pt-BR"),
            ("zh-hant", "zh-Hant"),
            ("中文", "zh"),
            ("Deutsch", "de"),
            ("ceb", "ceb"),
            ("iw", "he"),
            ("jp", "ja"),
        ] {
            assert_eq!(language(text).unwrap().code, code, "{text}");
        }
        assert_eq!(language("pt-BR").unwrap().name(), "Brazilian Portuguese");
        assert_eq!(language("ceb").unwrap().name(), "ceb");
        let said = |text: &str| language(text).unwrap_err().one_line();
        assert_has(&said("Italien"), &["Did you mean \"Italian\""]);
        for text in ["xx", "", "en|fr", "e", "en-", "en-<x>", "klingonese"] {
            assert!(said(text).contains("is not a known language"), "{text}");
        }
        assert!(said(&"x".repeat(1_000_000)).len() < 300);
    }

    #[test]
    fn no_name_is_ambiguous() {
        let mut names: Vec<String> = languages()
            .flat_map(|(code, names)| names.split('|').chain([code]))
            .map(str::to_lowercase)
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    proptest! {
        #[test]
        fn a_code_contains_only_letters_and_hyphens(text in "\\PC{0,12}|[a-zA-Z_-]{0,12}") {
            if let Ok(found) = language(&text) {
                prop_assert!(found.code.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'));
            }
        }
    }
}
