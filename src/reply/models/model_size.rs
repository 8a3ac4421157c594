//! Small or large, by the name of a model.

use crate::reply::settings::SizeSetting;

/// Models with fewer parameters, in billions, are small.
const LARGE_FROM: f64 = 8.0;

/// How much a model can be trusted with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelSize {
    /// Needs tools written in the text, digests and one step at a time.
    Small,
    Large,
}

/// The size of a model: as set, else by the number of parameters in its name. A name without one is large.
pub(crate) fn of(name: &str, setting: SizeSetting) -> ModelSize {
    match setting {
        SizeSetting::Small => return ModelSize::Small,
        SizeSetting::Large => return ModelSize::Large,
        SizeSetting::Auto => {}
    }
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let has = |part: &str| {
        name.windows(part.len())
            .any(|chars| chars.iter().copied().eq(part.chars()))
    };
    // Its tags do not always tell its size.
    if has("gemma4") {
        return ModelSize::Small;
    }
    let starts = |at: usize| at == 0 || matches!(name.get(at - 1), Some(':' | '-' | '_' | '/'));
    let tags = || {
        (0..name.len())
            .filter(|at| starts(*at))
            .filter_map(|at| name.get(at..))
    };
    if tags().any(is_mixture) {
        return ModelSize::Large;
    }
    match tags().find_map(parameters) {
        Some(billions) if billions < LARGE_FROM => ModelSize::Small,
        _ => ModelSize::Large,
    }
}

/// `8x7b`: a mixture of experts.
fn is_mixture(tag: &[char]) -> bool {
    let Some((_, ['x', size @ ..])) = number(tag) else {
        return false;
    };
    number(size).is_some_and(|(_, rest)| ends_in_b(rest))
}

/// `4b`, `1.7b`, and `e4b`: the size that a model behaves like.
fn parameters(tag: &[char]) -> Option<f64> {
    let (billions, rest) = number(tag.strip_prefix(&['e']).unwrap_or(tag))?;
    ends_in_b(rest).then_some(billions)
}

fn ends_in_b(rest: &[char]) -> bool {
    matches!(rest, ['b', after @ ..] if !after.first().is_some_and(|c| c.is_alphanumeric()))
}

/// A number without sign, and what follows it.
fn number(text: &[char]) -> Option<(f64, &[char])> {
    // More digits than any model has parameters.
    let len = text
        .iter()
        .take(16)
        .take_while(|c| c.is_ascii_digit() || **c == '.')
        .count();
    let (digits, rest) = text.split_at_checked(len)?;
    let digits: String = digits.iter().collect();
    digits
        .starts_with(|c: char| c.is_ascii_digit())
        .then_some(())?;
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_tag_decides_and_mixtures_are_large() {
        let small = [
            "gemma4",
            "GEMMA4:27b",
            "gemma4:e2b",
            "llama3.2:3b",
            "Mistral:7B",
            "phi3:3.8b-mini-4k",
            "qwen3:0.6b",
            "tiny-1b-chat",
            "hub/llama_3b",
            "gemma3n:e4b",
            "7b",
            "granite:2b_q4",
        ];
        let large = [
            "",
            "custom-model",
            "llama3.1:8b",
            "gpt-oss:20b",
            "mixtral:8x7b",
            "mini-2x1.5b",
            "qwen3:30b-a3b",
            "o3",
            "model:7bit",
            "v3b",
            "model-7bé",
            "x:99999999999999999999b",
            "llama:...b",
            "gpt-4.1",
            "kimi-k2:1t",
        ];
        for name in small {
            assert_eq!(of(name, SizeSetting::Auto), ModelSize::Small, "{name}");
            assert_eq!(of(name, SizeSetting::Large), ModelSize::Large, "{name}");
        }
        for name in large {
            assert_eq!(of(name, SizeSetting::Auto), ModelSize::Large, "{name}");
            assert_eq!(of(name, SizeSetting::Small), ModelSize::Small, "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_name_has_a_size(name in any::<String>()) {
            of(&name, SizeSetting::Auto);
        }
    }
}
