//! Tool call ids in a form that the server accepts, for conversations that started with another provider.

use std::borrow::Cow;

use crate::base::ids;
use crate::llm::catalog::{CallIds, ProviderSpec};

/// `id` if `row` accepts it, else one derived from it: the same for the call and its result.
pub(super) fn call_id<'a>(id: &'a str, row: &ProviderSpec) -> Cow<'a, str> {
    let (fits, length) = match row.quirks.call_ids {
        CallIds::Any => (true, 0),
        CallIds::Forty => (id.chars().count() <= 40, 24),
        CallIds::Nine => (
            id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            9,
        ),
        CallIds::Plain => {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            (!id.is_empty() && id.bytes().all(plain), 24)
        }
    };
    if fits {
        Cow::Borrowed(id)
    } else {
        Cow::Owned(letters(id, length))
    }
}

/// `id` in the form for the Responses wire: at most 64 characters.
pub(super) fn responses_call_id(id: &str) -> Cow<'_, str> {
    if !id.is_empty() && id.chars().count() <= 64 {
        Cow::Borrowed(id)
    } else {
        Cow::Owned(format!("call_{}", letters(id, 24)))
    }
}

/// `length` letters and digits derived from `id` by a hash, so that different ids stay different.
fn letters(id: &str, length: usize) -> String {
    let mut hash = ids::stable_hash(id);
    (0..length)
        .map(|at| {
            if at % 11 == 10 {
                hash = hash.wrapping_mul(0x0100_0000_01b3) ^ 0x5bd1_e995;
            }
            let digit = u8::try_from(hash % 36).unwrap_or_default();
            hash = hash / 36 + (hash << 59);
            char::from(if digit < 10 {
                b'0' + digit
            } else {
                b'a' + digit - 10
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::catalog::row;

    #[test]
    fn ids_of_other_providers_are_changed_alike_each_time() {
        let id = |id: &str, name: &str| call_id(id, row(name).unwrap()).into_owned();
        assert_eq!(id("functions.add:0", "groq"), "functions.add:0");
        assert_eq!(id("toolu_01-x", "anthropic"), "toolu_01-x");
        assert_eq!(id("abcDEF123", "mistral"), "abcDEF123");
        for (call, name, length) in [
            ("functions.add:0", "anthropic", 24),
            ("call_1234", "mistral", 9),
            (
                "chatcmpl-tool-0123456789abcdef0123456789abcdef",
                "openai",
                24,
            ),
        ] {
            let changed = id(call, name);
            assert_eq!(changed, id(call, name));
            assert!(
                changed.len() == length && changed.bytes().all(|b| b.is_ascii_alphanumeric()),
                "{changed}"
            );
        }
        let many: std::collections::HashSet<String> = (0..10_000)
            .map(|n| id(&format!("call_{n}"), "mistral"))
            .collect();
        assert_eq!(many.len(), 10_000);
    }
}
