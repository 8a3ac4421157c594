//! The header `WWW-Authenticate` (RFC 9110 section 11.6.1): what a server asks for before it lets a request in.
//!
//! A field has several challenges, and a list of them and the list of parameters of each are separated by the same comma. A word is the scheme of a new
//! challenge unless a `=` follows; what cannot be read is passed over up to the next comma.

/// Bytes of a field that are read.
const MAX_FIELD: usize = 16 << 10;

/// What a server asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// `Bearer`, `Basic` …, as sent.
    pub scheme: String,
    /// Names in lower case, in order; a name that comes twice is there twice.
    pub parameters: Vec<(String, String)>,
}

impl Challenge {
    /// The challenges of all values of the header, in order.
    pub fn read_all<'a>(fields: impl IntoIterator<Item = &'a str>) -> Vec<Self> {
        fields.into_iter().flat_map(read).collect()
    }

    /// Whether it is of this scheme.
    pub fn is(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    /// The value of a parameter; none if it is given twice with different values, which readers would take differently.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let mut values = (self.parameters.iter())
            .filter(|(own, _)| own == name)
            .map(|(_, value)| value.as_str());
        let value = values.next()?;
        values.all(|other| other == value).then_some(value)
    }
}

fn read(field: &str) -> Vec<Challenge> {
    let mut rest = Cursor(crate::base::text::head(field, MAX_FIELD));
    let mut challenges: Vec<Challenge> = Vec::new();
    loop {
        rest.skip(|c| matches!(c, ' ' | '\t' | ','));
        if rest.0.is_empty() {
            return challenges;
        }
        let word = rest.take(is_token);
        if word.is_empty() {
            rest.skip_item();
            continue;
        }
        let mut behind = Cursor(rest.0);
        behind.skip(is_blank);
        if behind.next_is('=') {
            rest = behind;
            match (rest.value(), challenges.last_mut()) {
                (Some(value), Some(challenge)) => {
                    challenge
                        .parameters
                        .push((word.to_ascii_lowercase(), value));
                }
                // Before any scheme, or no value.
                _ => rest.skip_item(),
            }
            continue;
        }
        challenges.push(Challenge {
            scheme: word.to_owned(),
            parameters: Vec::new(),
        });
        rest.skip_credentials();
    }
}

struct Cursor<'a>(&'a str);

impl<'a> Cursor<'a> {
    /// The characters at the front that are so.
    fn take(&mut self, is: impl Fn(char) -> bool) -> &'a str {
        let end = self.0.find(|c| !is(c)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }

    fn skip(&mut self, is: impl Fn(char) -> bool) {
        self.take(is);
    }

    /// Passes over this character, if it is the next one.
    fn next_is(&mut self, c: char) -> bool {
        match self.0.strip_prefix(c) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    /// A value: a token or a quoted string.
    fn value(&mut self) -> Option<String> {
        self.skip(is_blank);
        if self.next_is('"') {
            return self.quoted();
        }
        // Addresses come without quotes too.
        let value = self.take(|c| c.is_ascii_graphic() && !matches!(c, ',' | '"'));
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// The rest of a quoted string (RFC 9110 section 5.6.4), whose end may be missing.
    fn quoted(&mut self) -> Option<String> {
        let mut value = String::new();
        let mut chars = self.0.chars();
        while let Some(c) = chars.next() {
            match c {
                '"' => {
                    self.0 = chars.as_str();
                    return Some(value);
                }
                '\\' => value.extend(chars.next()),
                c => value.push(c),
            }
        }
        self.0 = "";
        None
    }

    /// Passes over what cannot be read: to the next comma outside quotes.
    fn skip_item(&mut self) {
        loop {
            self.skip(|c| !matches!(c, ',' | '"'));
            if !self.next_is('"') {
                return;
            }
            self.quoted();
        }
    }

    /// Passes over the one word of credentials that stands in place of parameters, as with `Negotiate`: it ends the item, perhaps with `=` for filling.
    fn skip_credentials(&mut self) {
        let mut behind = Cursor(self.0);
        behind.skip(is_blank);
        let is_credentials = |c: char| c.is_ascii_alphanumeric() || "-._~+/".contains(c);
        if behind.take(is_credentials).is_empty() {
            return;
        }
        behind.skip(|c| c == '=');
        behind.skip(is_blank);
        if behind.0.is_empty() || behind.0.starts_with(',') {
            self.0 = behind.0;
        }
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

/// RFC 9110 section 5.6.2.
fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(scheme: &str, parameters: &[(&str, &str)]) -> Challenge {
        Challenge {
            scheme: scheme.to_owned(),
            parameters: (parameters.iter())
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn challenges_and_parameters_are_told_apart() {
        for (field, expected) in [
            (
                // RFC 9110 section 11.6.1.
                r#"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#,
                vec![
                    one("Basic", &[("realm", "simple")]),
                    one(
                        "Newauth",
                        &[
                            ("realm", "apps"),
                            ("type", "1"),
                            ("title", r#"Login to "apps""#),
                        ],
                    ),
                ],
            ),
            (
                r#"Negotiate abc+/==, Bearer Scope = "a, b" ,error=invalid_token,"#,
                vec![
                    one("Negotiate", &[]),
                    one("Bearer", &[("scope", "a, b"), ("error", "invalid_token")]),
                ],
            ),
            (
                "bearer resource_metadata=https://a.example/x?y=z",
                vec![one(
                    "bearer",
                    &[("resource_metadata", "https://a.example/x?y=z")],
                )],
            ),
            ("Bearer", vec![one("Bearer", &[])]),
            ("Bearer, Basic", vec![one("Bearer", &[]), one("Basic", &[])]),
            (r#", x="1", "odd, Digest y" Bearer a="cut"#, vec![]),
            (r#"Bearer a=, b="2""#, vec![one("Bearer", &[("b", "2")])]),
        ] {
            assert_eq!(Challenge::read_all([field]), expected, "{field}");
        }
    }

    #[test]
    fn a_parameter_with_two_values_has_none() {
        let all = Challenge::read_all([r#"Bearer scope="a", SCOPE="a", error=x, error=y"#]);
        let [challenge] = all.as_slice() else {
            panic!("{all:?}");
        };
        assert!(challenge.is("bearer"));
        assert_eq!(challenge.parameter("scope"), Some("a"));
        assert_eq!(challenge.parameter("error"), None);
    }

    fn quoted(value: &str) -> String {
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{escaped}\"")
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            all in prop::collection::vec(("[A-Za-z][a-z0-9-]{0,8}", prop::collection::vec(("[a-z_]{1,8}", "[ -~é]{0,20}"), 0..4)), 0..4),
        ) {
            let fields: Vec<String> = all.iter().map(|(scheme, parameters)| {
                let parameters: Vec<String> = parameters.iter().map(|(name, value)| format!("{name}={}", quoted(value))).collect();
                format!("{scheme} {}", parameters.join(", "))
            }).collect();
            let expected: Vec<Challenge> = all.into_iter().map(|(scheme, parameters)| Challenge { scheme, parameters }).collect();
            prop_assert_eq!(Challenge::read_all([fields.join(", ").as_str()]), expected.clone());
            prop_assert_eq!(Challenge::read_all(fields.iter().map(String::as_str)), expected);
        }

        #[test]
        fn any_field_is_read(field in "[\"\\\\=, a-cé]{0,60}") {
            for challenge in Challenge::read_all([field.as_str()]) {
                prop_assert!(!challenge.scheme.is_empty());
            }
        }
    }
}
