//! Proof Key for Code Exchange (RFC 7636): the verifier and its challenge.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};

use crate::base::problem::{Outcome, Problem};

/// 43 random characters: a verifier, or a state.
///
/// # Errors
/// The system provides no random bytes; there is no weaker fallback.
pub(crate) fn random_text() -> Outcome<String> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        Problem::internal(format!("The system gives no random numbers: {error}."))
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The challenge of a verifier (S256).
pub(crate) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_matches_the_standard() {
        // The example of RFC 7636, appendix B.
        assert_eq!(
            challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
        let (one, two) = (random_text().unwrap(), random_text().unwrap());
        assert!(one.len() == 43 && one != two);
    }
}
