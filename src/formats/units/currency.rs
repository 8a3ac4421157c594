//! Currency codes, symbols and names. Rates come from a service.

use crate::base::text::single_spaced;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Currency {
    /// The ISO 4217 code, or another that the rate service knows.
    pub(crate) code: &'static str,
    /// Decimals of its minor unit.
    pub(crate) places: usize,
    /// Names and symbols, in lower case, that mean it clearly or by far most often, separated by `|`.
    names: &'static str,
}

const fn of(code: &'static str, names: &'static str) -> Currency {
    Currency {
        code,
        places: 2,
        names,
    }
}

const fn coins(code: &'static str, places: usize, names: &'static str) -> Currency {
    Currency {
        code,
        places,
        names,
    }
}

/// Currencies with names and symbols; those of the European Central Bank come first.
#[rustfmt::skip]
const NAMED: &[Currency] = &[
    of("EUR", "€|euro|euros"),
    of("USD", "$|us$|us dollar|us dollars|u.s. dollar|u.s. dollars|american dollar|american dollars|dollar|dollars|buck|bucks"),
    of("GBP", "£|pound|pounds|pound sterling|pounds sterling|sterling|british pound|british pounds|quid"),
    coins("JPY", 0, "¥|￥|yen|japanese yen|円"),
    of("CHF", "fr.|sfr|sfr.|franc|francs|swiss franc|swiss francs|franken"),
    of("AUD", "a$|au$|aus$|australian dollar|australian dollars"),
    of("BRL", "r$|real|reais|brazilian real|brazilian reais"),
    of("CAD", "c$|ca$|can$|canadian dollar|canadian dollars"),
    of("CNY", "cn¥|rmb|yuan|renminbi|chinese yuan|元|人民币"),
    of("CZK", "kč|koruna|koruny|korun|czech koruna|czech crown|czech crowns"),
    of("DKK", "danish krone|danish kroner|danish crown|danish crowns"),
    of("HKD", "hk$|hong kong dollar|hong kong dollars"),
    of("HUF", "ft.|forint|forints|hungarian forint"),
    coins("IDR", 2, "rp|rupiah|indonesian rupiah"),
    of("ILS", "₪|nis|shekel|shekels|israeli shekel|new shekel"),
    of("INR", "₹|rs.|rupee|rupees|indian rupee|indian rupees"),
    coins("ISK", 0, "icelandic krona|icelandic króna|króna|icelandic crown"),
    coins("KRW", 0, "₩|won|korean won|south korean won|원"),
    of("MXN", "mx$|mex$|mexican peso|mexican pesos"),
    of("MYR", "rm|ringgit|malaysian ringgit"),
    of("NOK", "norwegian krone|norwegian kroner|norwegian crown|norwegian crowns"),
    of("NZD", "nz$|new zealand dollar|new zealand dollars|kiwi dollar"),
    of("PHP", "₱|philippine peso|philippine pesos"),
    of("PLN", "zł|zl|zloty|złoty|zlotys|złote|złotych|polish zloty|polish złoty"),
    of("RON", "leu|lei|romanian leu|romanian lei"),
    of("SEK", "krona|kronor|swedish krona|swedish kronor|swedish crown|swedish crowns"),
    of("SGD", "s$|sg$|singapore dollar|singapore dollars"),
    of("THB", "฿|baht|thai baht"),
    of("TRY", "₺|lira|turkish lira"),
    of("ZAR", "rand|south african rand"),
    of("AED", "dirham|dirhams|uae dirham|uae dirhams"),
    of("ARS", "argentine peso|argentine pesos|ar$"),
    of("BGN", "lev|leva|лв|bulgarian lev"),
    coins("CLP", 0, "chilean peso|chilean pesos"),
    of("COP", "colombian peso|colombian pesos"),
    of("EGP", "egyptian pound|egyptian pounds"),
    of("GEL", "₾|lari|georgian lari"),
    of("KZT", "₸|tenge|kazakh tenge"),
    coins("KWD", 3, "kuwaiti dinar|kuwaiti dinars"),
    of("MAD", "moroccan dirham|moroccan dirhams"),
    of("NGN", "₦|naira|nigerian naira"),
    of("PEN", "sol|soles|peruvian sol"),
    of("PKR", "pakistani rupee|pakistani rupees"),
    of("RSD", "serbian dinar|serbian dinars"),
    of("RUB", "₽|ruble|rubles|rouble|roubles|russian ruble|russian rouble"),
    of("SAR", "riyal|riyals|saudi riyal|saudi riyals"),
    of("TWD", "nt$|taiwan dollar|taiwan dollars|new taiwan dollar"),
    of("UAH", "₴|hryvnia|hryvnias|ukrainian hryvnia"),
    coins("VND", 0, "₫|dong|vietnamese dong"),
    of("CRC", "₡|colon|colones"),
    of("BDT", "৳|taka"),
    of("MNT", "₮|tugrik"),
    of("GHS", "₵|cedi|cedis"),
    of("KES", "kenyan shilling|kenyan shillings"),
    of("XAU", "gold ounce|ounce of gold|ounces of gold"),
];

/// Currencies known by their codes alone, separated by spaces.
const CODES: &str = "AFN ALL AMD ANG AOA AWG AZN BAM BBD BMD BND BOB BSD BTN BWP BYN BZD CDF CNH CUP CVE DOP DZD ERN \
    ETB FJD FKP GGP GIP GMD GTQ GYD HNL HTG IMP IRR JEP JMD KGS KHR KPW KYD LAK LBP LKR LRD LSL MDL \
    MGA MKD MMK MOP MRU MUR MVR MWK MZN NAD NIO NPR PAB PGK QAR SBD SCR SDG SHP SLE SOS SRD SSP STN \
    SVC SYP SZL TJS TMT TOP TTD TZS UYU UZS VES WST XAG XCD XDR XPD XPT YER ZMW ZWG ZWL HRK";
/// Those without a minor unit, and those with a thousandth.
const WHOLE: &str = "BIF DJF GNF KMF PYG RWF UGX VUV XAF XOF XPF";
const THOUSANDTHS: &str = "BHD IQD JOD LYD OMR TND";

/// A currency: its code and the decimals of its minor unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Money {
    pub(crate) code: &'static str,
    /// Decimals of its minor unit.
    pub(crate) places: usize,
}

pub(crate) fn currency(text: &str) -> Option<Money> {
    let text = text.trim();
    if text.len() > 40 {
        return None;
    }
    let lower = single_spaced(text);
    let lower = lower.to_lowercase();
    let named = |own: &&Currency| {
        own.code.eq_ignore_ascii_case(text) || own.names.split('|').any(|name| name == lower)
    };
    if let Some(found) = NAMED.iter().find(named) {
        return Some(Money {
            code: found.code,
            places: found.places,
        });
    }
    let kinds = [(CODES, 2), (WHOLE, 0), (THOUSANDTHS, 3)];
    kinds.into_iter().find_map(|(codes, places)| {
        let code = codes
            .split(' ')
            .find(|own| own.eq_ignore_ascii_case(text))?;
        Some(Money { code, places })
    })
}

/// True for currency symbols, which may also precede a number.
pub(crate) fn is_sign(c: char) -> bool {
    matches!(c, '$' | '£' | '¥' | '￥' | '฿' | '৳' | '₡'..='₿')
}

/// The known currencies, as the end of a sentence.
pub(super) fn examples() -> String {
    let codes: Vec<&str> = NAMED.iter().take(30).map(|own| own.code).collect();
    let others = [CODES, WHOLE, THOUSANDTHS].map(|codes| codes.split(' ').count());
    let more = NAMED.len() - codes.len() + others.iter().sum::<usize>();
    format!("{} and {more} others by their codes", codes.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn currencies_are_found_by_code_symbol_and_name() {
        for (text, code) in [
            ("usd", "USD"),
            ("Eur", "EUR"),
            (" € ", "EUR"),
            ("Dollars", "USD"),
            ("US  dollars", "USD"),
            ("pounds", "GBP"),
            ("¥", "JPY"),
            ("CA$", "CAD"),
            ("zł", "PLN"),
            ("Kč", "CZK"),
            ("xof", "XOF"),
            ("BHD", "BHD"),
        ] {
            assert_eq!(currency(text).map(|own| own.code), Some(code), "{text}");
        }
        for text in ["", "xyz", "kr", "peso", "km", "US", "dollarss", "BTC"] {
            assert_eq!(currency(text), None, "{text}");
        }
        assert!("€$£₹₩₽₺₿".chars().all(is_sign) && !"k°%".chars().any(is_sign));
    }

    #[test]
    fn no_text_names_two_currencies() {
        let mut all: Vec<&str> = NAMED.iter().flat_map(|own| own.names.split('|')).collect();
        all.extend(NAMED.iter().map(|own| own.code));
        all.extend(
            [CODES, WHOLE, THOUSANDTHS]
                .iter()
                .flat_map(|codes| codes.split(' ')),
        );
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(
            NAMED
                .iter()
                .flat_map(|own| own.names.split('|'))
                .all(|name| name.to_lowercase() == *name)
        );
    }
}
