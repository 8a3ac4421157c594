//! The scenarios of the conformance suite in which a client signs in, as in `mcp_peers.rs`.

use std::path::Path;
use std::time::Duration;

use super::mcp_peers::peers;
use crate::support::home::Home;
use crate::support::run::Marvin;

const LIMIT: Duration = Duration::from_secs(300);

/// Of both revisions.
const BOTH: &str = "metadata-default metadata-var1 metadata-var2 metadata-var3 basic-cimd scope-from-www-authenticate \
    scope-from-scopes-supported scope-omitted-when-undefined scope-step-up scope-retry-limit token-endpoint-auth-basic \
    token-endpoint-auth-post token-endpoint-auth-none pre-registration";
/// Of the newer one alone.
const MODERN: &str = "resource-mismatch offline-access-scope offline-access-not-supported authorization-server-migration \
    iss-supported iss-not-advertised iss-supported-missing iss-wrong-issuer iss-unexpected iss-normalized metadata-issuer-mismatch";

/// What the suite says after it ran scenarios with Marvin.
fn suite(peers: &Path, words: &[&str]) -> String {
    let home = Home::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/mcp_conformance_client.py");
    let python = peers.join("python/bin/python");
    let marvin = env!("CARGO_BIN_EXE_marvin");
    let command = format!("{} {} {marvin}", python.display(), script.display());
    let done = Marvin::new(&peers.join("node_modules/.bin/node"))
        .arg(peers.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
        .args(["client", "--command", &command])
        .args(words.iter().copied())
        .dir(&home.path())
        .limit(LIMIT)
        .run();
    done.output()
}

fn passes(said: &str, scenarios: &str) {
    for scenario in scenarios.split_whitespace() {
        let line = format!("✓ auth/{scenario}: ");
        assert!(said.contains(&line), "{scenario}\n{said}");
    }
}

#[test]
fn the_conformance_suite_lets_marvin_sign_in() {
    let Some(peers) = peers("mcp_sign_in_peers::the_conformance_suite_lets_marvin_sign_in") else {
        return;
    };
    let said = suite(&peers, &["--requirements", "2026-07-28"]);
    passes(&said, BOTH);
    passes(&said, MODERN);
    passes(&suite(&peers, &["--requirements", "2025-11-25"]), BOTH);
    for fallback in ["oauth-metadata-backcompat", "oauth-endpoint-fallback"] {
        let scenario = format!("auth/2025-03-26-{fallback}");
        let said = suite(
            &peers,
            &["--scenario", &scenario, "--spec-version", "2025-03-26"],
        );
        assert!(said.contains("OVERALL: PASSED"), "{said}");
    }
}
