//! The tokenizer of the o200k encoding, made of a vocabulary that the build compressed (`scripts/build.rs`).

use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::DeflateDecoder;
use tiktoken_rs::{CoreBPE, O200K_BASE_PAT_STR, Rank};

/// The tokens by rank: those of one byte, then the others, each behind a byte that none of them has.
static TOKENS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/o200k.deflate"));

/// None if what the build wrote cannot be read.
static O200K: LazyLock<Option<CoreBPE>> = LazyLock::new(|| {
    let mut tokens = Vec::new();
    DeflateDecoder::new(TOKENS).read_to_end(&mut tokens).ok()?;
    let (bytes, longer) = tokens.split_at_checked(256)?;
    let (mark, longer) = longer.split_first()?;
    let all = bytes.chunks(1).chain(longer.split(|byte| byte == mark));
    let ranked = (0..)
        .zip(all)
        .map(|(rank, token): (Rank, _)| (token.to_vec(), rank));
    CoreBPE::new(ranked.collect(), Default::default(), O200K_BASE_PAT_STR).ok()
});

/// How many tokens a text has; none if there is no vocabulary.
pub(super) fn count(text: &str) -> Option<usize> {
    Some(O200K.as_ref()?.encode_ordinary(text).len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_tokens_are_those_of_the_crate() {
        let (own, crates) = (O200K.as_ref().unwrap(), tiktoken_rs::o200k_base().unwrap());
        let text = "It costs £5, naïvely; 東京 \t\n  fn main() { println!(\"{}\", 1_000_000); } 🦀";
        assert_eq!(own.encode_ordinary(text), crates.encode_ordinary(text));
        for rank in (0..200_000).step_by(97) {
            assert_eq!(
                own.decode_bytes(&[rank]).ok(),
                crates.decode_bytes(&[rank]).ok(),
                "{rank}"
            );
        }
    }
}
