//! Labels: each shape of a secret, prose that stays, and properties of both.

mod conversation;
mod data;
mod properties;

use proptest::prelude::*;

use super::{redact, rules, scrub};
use crate::base::testing::assert_linear;

/// A secret of each shape, and what becomes of it.
const SECRETS: &[(&str, &str)] = &[
    ("grace.h+news@ships.example.com", "[REDACTED_EMAIL]"),
    ("jürgen@häuser.example", "[REDACTED_EMAIL]"),
    ("ирина@почта.рф", "[REDACTED_EMAIL]"),
    ("5500 0055 5555 5559", "[REDACTED_CARD]"),
    ("5500-0055-5555-5559", "[REDACTED_CARD]"),
    ("378282246310005", "[REDACTED_CARD]"),
    ("6304 0000 0000 0000 000", "[REDACTED_CARD]"),
    ("AKIA2222BBBB3333CCCC", "[REDACTED_AWS_KEY]"),
    ("ASIA2222BBBB3333CCCC", "[REDACTED_AWS_KEY]"),
    ("sk_live_4eC39HqLyjWDarjtT1", "[REDACTED_STRIPE_KEY]"),
    ("pk_test_4eC39HqLyjWDarjtT1", "[REDACTED_STRIPE_KEY]"),
    (
        "ghp_1234567890abcdefghijklmnopqrstuvwxyz",
        "[REDACTED_GH_TOKEN]",
    ),
    ("github_pat_11ABCDEFG0_abcdefghijkl", "[REDACTED_GH_TOKEN]"),
    ("sk-proj-abcDEF123_456-ghiJKL789", "[REDACTED_OPENAI_KEY]"),
    (
        "sk-0123456789abcdefghijABCDEFGHIJKL",
        "[REDACTED_OPENAI_KEY]",
    ),
    ("sk-ant-api03-abcdefghijklmnop", "[REDACTED_API_KEY]"),
    ("sk-or-v1-0123456789abcdef0123", "[REDACTED_API_KEY]"),
    ("gsk_0123456789abcdefghijKLMN", "[REDACTED_API_KEY]"),
    (
        "AIzaSyA0123456789-abcdefghijklmnop_qrstu",
        "[REDACTED_GOOG_KEY]",
    ),
    ("xoxb-123456789012-abc", "[REDACTED_TOKEN]"),
    ("AZURE_0123456789", "[REDACTED_TOKEN]"),
    ("eyJ0eXAiOiJKV1Qi.eyJzdWIi.c2ln", "[REDACTED_JWT]"),
    ("deadbeefDEADBEEF0123456789abcdef", "[REDACTED_HEX]"),
    (
        "AUTHORIZATION:bearer  abc.def",
        "Authorization: Bearer [REDACTED]",
    ),
    (
        "Authorization: Basic dXNlcjpwYXNz",
        "Authorization: Basic [REDACTED]",
    ),
    ("password=correct-horse", "password=[REDACTED]"),
    ("Session_ID : 77aa", "Session_ID=[REDACTED]"),
    ("pwd=7", "pwd=[REDACTED]"),
    ("DB_PASSWORD=correct-horse", "DB_PASSWORD=[REDACTED]"),
    ("sid=77aa88bb", "sid=[REDACTED]"),
    (
        "AZURE_CLIENT_SECRET=correct~horse",
        "[REDACTED_TOKEN]=[REDACTED]",
    ),
];

/// Ordinary text.
const PROSE: &[&str] = &[
    "The meeting moved from 2026-11-22 to 2026-11-23 at 14:30.",
    "2026-11-22 2026-11-23 2026-11-24",
    "Between 22-11-2026 23-11-2026 there are 24 hours.",
    "Pi is 3.14159265358979, and the year has 31556952 seconds.",
    "Call +49 170 1234567 or (020) 7946 0958.",
    "https://example.org/a/b?page=12&sort=up#top and www.example.org",
    "fn next(&mut self) -> Option<usize> { self.at.checked_add(1) }",
    "let sess = std::net::TcpStream::connect((host, 443))?;",
    "use app::session::Session;",
    "A compass shows north; bypass: none.",
    "The ghostwriters know the Ghostwriter's secret and passed it on.",
    "population 482913",
    "The code is 482913",
    "日本の首都は東京です。人口は約1400万人。",
    "Сегодня 22 ноября 2026 года, температура −3 °C.",
    "สวัสดีครับ วันนี้อากาศดี",
    "the desk-or-standing-desk-converter-in-the-shop",
    "192.168.0.1 and 2001:db8::1",
    "1,234,567,890,123 stars",
    "",
];

/// What stands around a secret.
const AROUND: &[(&str, &str)] = &[
    ("", ""),
    ("use ", " today"),
    ("(", ")"),
    ("我的是", "谢谢"),
    ("ключ: ", ", понятно"),
    ("first line\n", "\nlast line"),
    ("“", "”"),
    ("é ", " é"),
    ("กข ", " คง"),
    ("\u{202e}", "\u{0}"),
];

#[test]
fn every_rule_compiles() {
    assert!(rules::compile_all());
}

#[test]
fn each_secret_gets_its_label_wherever_it_is_written() {
    for (secret, label) in SECRETS {
        for (before, after) in AROUND {
            let text = format!("{before}{secret}{after}");
            let shown = scrub(&text);
            assert!(shown.contains(label), "{text} became {shown}");
            let last = secret.rsplit(['=', ' ', ':']).next().unwrap();
            assert!(!shown.contains(last), "{text} became {shown}");
        }
        assert_eq!(&scrub(secret), label);
    }
}

#[test]
fn ordinary_text_stays_as_it_is() {
    for text in PROSE {
        assert_eq!(&scrub(text), text);
    }
}

#[test]
fn the_more_telling_label_stays() {
    for (text, want) in [
        (
            "token: ghp_1234567890abcdefghijklmnopqrstuvwxyz",
            "token: [REDACTED_GH_TOKEN]",
        ),
        (
            "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.x.y",
            "Authorization: Bearer [REDACTED]",
        ),
        ("secret=ada@ships.example.com", "secret=[REDACTED_EMAIL]"),
        ("pass: ada@ships.example.com!x", "pass=[REDACTED]"),
    ] {
        assert_eq!(scrub(text), want);
    }
}

#[test]
fn values_in_quotes_go_whole() {
    for (text, want) in [
        ("password=\"two words\" next", "password=[REDACTED] next"),
        (
            r#"{"password": "two words", "user": "ada"}"#,
            r#"{"password": "[REDACTED]", "user": "ada"}"#,
        ),
        (
            r#"{\"api_key\":\"abc\",\"n\":1}"#,
            r#"{\"api_key\":\"[REDACTED]\",\"n\":1}"#,
        ),
        (
            r#"{"token": null, "sid": 123456}"#,
            r#"{"token": null, "sid": [REDACTED]}"#,
        ),
        (
            r#"-H "Authorization: Bearer abc" https://x.example"#,
            r#"-H "Authorization: Bearer [REDACTED]" https://x.example"#,
        ),
        ("token: Bearer abc", "token=[REDACTED]"),
    ] {
        assert_eq!(scrub(text), want);
    }
}

#[test]
fn a_value_on_the_line_below_its_keyword_goes() {
    for (text, want) in [
        (
            "please keep this\npassword:\nhunterMULTI5secret\nthanks",
            "please keep this\npassword:\n[REDACTED]\nthanks",
        ),
        (
            "Wifi password =\r\n  hunter2x\r\n",
            "Wifi password =\r\n  [REDACTED]\r\n",
        ),
        ("**Token:**\n- a1b2c3d4", "**Token:**\n- [REDACTED]"),
        (
            "api_key:\n```text\nab12cd34\n```",
            "api_key:\n```text\n[REDACTED]\n```",
        ),
        ("DB_PASSWORD:\n84751234", "DB_PASSWORD:\n[REDACTED]"),
        ("secret:\n\"correct1horse\"", "secret:\n[REDACTED]"),
        (
            "token:\npassword:\nhunter5x",
            "token:\npassword:\n[REDACTED]",
        ),
    ] {
        assert_eq!(scrub(text), want);
        assert_eq!(scrub(want), want);
    }
    for text in [
        "Password:\n\nForgot your password?",
        "Password:\nForgot your password 2 times?",
        "Password:\nforgotten",
        "Secrets:\n- none",
        "Secret:\n- none",
        "Session:\nCOMP3821",
        "Token:\nGPT-4o",
        "Pass:\n2026-11-22",
        "Token:\n10:30am",
        "Token:\nhttps://example.org/page12",
        "Secret:\nv1.2.3",
        "secret:\n  key1234:",
        "Token:\n\nhunter5x",
    ] {
        assert_eq!(scrub(text), text);
    }
}

#[test]
fn a_value_beside_a_bold_keyword_goes() {
    for (text, want) in [
        ("**Password:** hunter2 ok", "**Password=[REDACTED] ok"),
        ("**Password**: hunter2", "**Password=[REDACTED]"),
        ("password: **hunter2**", "password=[REDACTED]"),
        ("session *= 2", "session *= 2"),
        ("**Password:**", "**Password:**"),
    ] {
        assert_eq!(scrub(text), want);
    }
}

#[test]
fn a_card_beside_other_numbers_goes_whole() {
    for (text, want) in [
        (
            "2026-11-22 5500 0055 5555 5559",
            "2026-11-22 [REDACTED_CARD]",
        ),
        (
            "order 12345 5500 0055 5555 5559",
            "order 12345 [REDACTED_CARD]",
        ),
        (
            "5500005555555559 and 378282246310005",
            "[REDACTED_CARD] and [REDACTED_CARD]",
        ),
        ("x5500005555555559", "x5500005555555559"),
        ("12345678901234567890", "12345678901234567890"),
        ("5500  0055  5555  5559", "5500  0055  5555  5559"),
    ] {
        assert_eq!(scrub(text), want);
    }
    assert_eq!(redact("5500  0055\n5555\t5559 x"), "[REDACTED_CARD] x");
}

#[test]
fn six_digits_are_a_code_when_the_line_says_so_near_them() {
    for (text, want) in [
        (
            "555123 is your one-time passcode",
            "[REDACTED_OTP] is your one-time passcode",
        ),
        (
            "555123 and 555124: OTP",
            "[REDACTED_OTP] and [REDACTED_OTP]: OTP",
        ),
        ("555123\nis the code", "555123\nis the code"),
        ("5551234 is the code", "5551234 is the code"),
        ("Your code: 555123.", "Your code: [REDACTED_OTP]."),
        ("2FA 555123", "2FA [REDACTED_OTP]"),
        ("请输入555123作为code", "请输入[REDACTED_OTP]作为code"),
    ] {
        assert_eq!(scrub(text), want);
    }
}

#[test]
fn lines_stay_in_one_form_and_go_in_the_other() {
    assert_eq!(
        scrub("a:\n  sid = 77aa88\n\nb"),
        "a:\n  sid=[REDACTED]\n\nb"
    );
    assert_eq!(redact("  a\n\n b\u{3000}c "), "a b c");
    assert_eq!(redact(&"語".repeat(9_000)).chars().count(), 8_000);
    // A secret that the end cuts.
    let text = format!("{} 5500 0055 5555 5559", "x".repeat(7_990));
    assert!(!redact(&text).contains("5500"));
}

/// Ordinary text that has many beginnings of secrets and no end.
fn adversarial(len: usize) -> Vec<String> {
    [
        "a",
        "1 ",
        "12-",
        "pass:\"",
        "pass:'",
        "token",
        "eyJ.",
        "gh",
        "sk-",
        "@",
        "a@a.",
        "123456 ",
        "authorization: ",
        "0f",
        "aws_key",
        "curl -u ",
        "curl -u a:$X ",
        "password is ",
        "password for a b ",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\\n",
        "https://a:",
        "{\"token\":\"",
        "--token ",
        "Bearer ",
        "Passwort ist ",
        "密码是",
        "token: a(",
        "session: session=",
        "code 12345 ",
        "\n",
        "é",
        "語",
    ]
    .into_iter()
    .map(|piece| piece.repeat(len / piece.len()))
    .collect()
}

#[test]
fn time_grows_with_the_length_and_no_faster() {
    assert_linear(adversarial, |text| {
        scrub(text);
        redact(text);
    });
}

proptest! {
    #[test]
    fn no_secret_survives_in_ordinary_text(
        secret in proptest::sample::select(SECRETS),
        before in "([\\p{L} ,.!?\n]{0,30}[ \n,(\u{4e00}-\u{4e10}])?",
        after in "([ \n)!?\u{4e00}-\u{4e10}][\\p{L} ,.!?\n]{0,30})?",
    ) {
        let shown = scrub(&format!("{before}{}{after}", secret.0));
        prop_assert!(!shown.contains(secret.0), "{}", shown);
    }

    #[test]
    fn words_and_small_numbers_stay(text in "([\\p{L}]{1,9}|[0-9]{1,2}|[0-9]{2}:[0-9]{2})([ \n,.]{2}([\\p{L}]{1,9}|[0-9]{1,2})){0,12}") {
        let plain = text.replace("eyJ", "");
        prop_assert_eq!(scrub(&plain), plain);
    }

    #[test]
    fn scrubbing_twice_changes_nothing(
        pieces in proptest::collection::vec(
            prop_oneof![
                proptest::sample::select(SECRETS).prop_map(|s| s.0.to_owned()),
                proptest::sample::select(PROSE).prop_map(str::to_owned),
                proptest::sample::select(vec!["pass", "token", ":", "=", " ", "\n", "\"", "'", "123456", "code", "[REDACTED]", "@", "-", "_", "."]).prop_map(str::to_owned),
                "\\PC{0,6}",
            ],
            0..8,
        ),
    ) {
        let once = scrub(&pieces.concat());
        prop_assert_eq!(scrub(&once), once.clone(), "{:?}", pieces);
    }

    #[test]
    fn anything_can_be_redacted(text in any::<String>()) {
        let line = redact(&text);
        prop_assert!(line.chars().count() <= 8_000);
        prop_assert!(!line.contains(['\n', '\t']));
    }
}
