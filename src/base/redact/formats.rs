//! Keys and tokens that say by how they begin what they are, and which of them are in a text.
//!
//! Who gives out a key publishes its prefix, so that scanners find what should not lie about. A prefix and enough of the right characters after it are a
//! secret; length alone is not, because digests, ids and long names are long too.

use std::sync::LazyLock;

use regex::Regex;

use super::hit::Hit;

/// Bytes after a prefix within which the telling part of a key is.
const MAX_CHUNK_OFFSET: usize = 256;

/// A format of keys.
pub(super) struct KeyFormat {
    pub prefix: &'static str,
    rest: Rest,
    label: &'static str,
    /// The page that tells the format.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers, and for a test"))]
    source: &'static str,
}

/// What follows a prefix: at least so many characters of a kind.
#[derive(Clone, Copy)]
enum Rest {
    /// Letters and digits.
    Alnum(usize),
    /// Capital letters and digits.
    Upper(usize),
    /// Hexadecimal digits, and neither letter nor digit after them.
    Hex(usize),
    /// Letters, digits, `_` and `-`.
    Word(usize),
    /// The same and `.`, `+`, `/`, `=`, `~`, `%`.
    Any(usize),
    /// As [`Rest::Word`], with so many letters and digits side by side and a digit among them: the prefix is the beginning of ordinary names too.
    Chunk(usize),
}
use Rest::{Alnum, Any, Chunk, Hex, Upper, Word};

use crate::base::shared_sort::SharedSort as _;

impl Rest {
    fn takes(self, byte: u8) -> bool {
        match self {
            Alnum(_) => byte.is_ascii_alphanumeric(),
            Upper(_) => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Hex(_) => byte.is_ascii_hexdigit(),
            Word(_) | Chunk(_) => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Any(_) => {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'_' | b'-' | b'.' | b'+' | b'/' | b'=' | b'~' | b'%')
            }
        }
    }

    /// How many bytes at the beginning of `rest` belong to a key; `None` if it is none.
    fn length(self, rest: &str) -> Option<usize> {
        if let Chunk(min) = self {
            // A long run of names is looked at only here, because it may begin many times.
            let begin = rest
                .as_bytes()
                .get(..MAX_CHUNK_OFFSET)
                .unwrap_or(rest.as_bytes());
            let len = begin.iter().take_while(|byte| self.takes(**byte)).count();
            if !has_chunk(rest.get(..len)?, min) {
                return None;
            }
        }
        let len = rest.bytes().take_while(|byte| self.takes(*byte)).count();
        let run = rest.get(..len)?;
        // The end of a sentence is no part of it.
        let run = run.trim_end_matches('.');
        let is_key = match self {
            Alnum(min) | Upper(min) | Word(min) | Any(min) => run.len() >= min,
            Hex(min) => {
                let after = rest.as_bytes().get(len);
                run.len() >= min && !after.is_some_and(u8::is_ascii_alphanumeric)
            }
            Chunk(_) => true,
        };
        is_key.then_some(run.len())
    }
}

#[cfg(test)]
impl KeyFormat {
    /// A regular expression of what may follow the prefix.
    pub(super) fn sample(&self) -> String {
        match self.rest {
            Alnum(min) => format!("[A-Za-z0-9]{{{min},{}}}", min + 4),
            Upper(min) => format!("[A-Z0-9]{{{min},{}}}", min + 4),
            Hex(min) => format!("[0-9a-f]{{{min}}}"),
            Word(min) => format!("[A-Za-z0-9_-]{{{}}}[a-z0-9]", min - 1),
            Any(min) => format!("[A-Za-z0-9_+/-]{{{}}}[a-z0-9]", min - 1),
            Chunk(min) => format!("[A-Za-z0-9]{{{min},{}}}7", min + 4),
        }
    }
}

/// True when `text` has `min` letters and digits side by side, and a digit among them.
pub(super) fn has_chunk(text: &str, min: usize) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|chunk| chunk.len() >= min && chunk.bytes().any(|byte| byte.is_ascii_digit()))
}

const AWS_KEY: &str = "[REDACTED_AWS_KEY]";
const STRIPE_KEY: &str = "[REDACTED_STRIPE_KEY]";
const GH_TOKEN: &str = "[REDACTED_GH_TOKEN]";
const OPENAI_KEY: &str = "[REDACTED_OPENAI_KEY]";
const API_KEY: &str = "[REDACTED_API_KEY]";
const GOOG_KEY: &str = "[REDACTED_GOOG_KEY]";
const TOKEN: &str = "[REDACTED_TOKEN]";
const PRIVATE_KEY: &str = "[REDACTED_PRIVATE_KEY]";

const fn row(
    prefix: &'static str,
    rest: Rest,
    label: &'static str,
    source: &'static str,
) -> KeyFormat {
    KeyFormat {
        prefix,
        rest,
        label,
        source,
    }
}

const AWS: &str = "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-prefixes";
const BEDROCK: &str = "https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-how.html";
const STRIPE: &str = "https://docs.stripe.com/keys";
const STRIPE_HOOKS: &str = "https://docs.stripe.com/webhooks/signature";
const GITHUB: &str = "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github#githubs-token-formats";
const GITLAB: &str = "https://docs.gitlab.com/security/tokens/#token-prefixes";
const OPENAI: &str = "https://platform.openai.com/docs/api-reference/authentication";
const ANTHROPIC: &str = "https://docs.anthropic.com/en/api/overview#authentication";
const GOOGLE: &str = "https://cloud.google.com/docs/authentication/api-keys";
const GOOGLE_OAUTH: &str = "https://developers.google.com/identity/protocols/oauth2";
const SLACK: &str = "https://docs.slack.dev/authentication/tokens";
const SQUARE: &str = "https://developer.squareup.com/docs/build-basics/access-tokens";
const SHOPIFY: &str =
    "https://shopify.dev/docs/apps/build/authentication-authorization/access-tokens";
const DIGITALOCEAN: &str =
    "https://docs.digitalocean.com/reference/api/create-personal-access-token/";
const VAULT: &str = "https://developer.hashicorp.com/vault/docs/concepts/tokens#token-prefixes";
const DOPPLER: &str = "https://docs.doppler.com/reference/auth-token-formats";
const CLOUDFLARE: &str =
    "https://developers.cloudflare.com/fundamentals/api/get-started/token-formats/";
const VERCEL: &str = "https://vercel.com/changelog/new-token-formats-and-secret-scanning";
const SUPABASE: &str = "https://supabase.com/docs/guides/api/api-keys";
const NEW_RELIC: &str = "https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/";
const FLY: &str = "https://fly.io/docs/security/tokens/";
const NOTION: &str = "https://developers.notion.com/page/changelog";
const LINEAR: &str = "https://linear.app/developers/graphql";
const DOCKER: &str = "https://docs.docker.com/security/access-tokens/";
const HUGGING_FACE: &str = "https://huggingface.co/docs/hub/security-tokens";
const GRAFANA: &str = "https://grafana.com/docs/grafana/latest/administration/service-accounts/";
const SENTRY: &str = "https://docs.sentry.io/account/auth-tokens/";
const ATLASSIAN: &str = "https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account/";
const PLANETSCALE: &str = "https://planetscale.com/docs/concepts/service-tokens";
const SONAR: &str =
    "https://docs.sonarsource.com/sonarqube-server/latest/user-guide/managing-tokens/";
const LANGSMITH: &str = "https://docs.langchain.com/langsmith/create-account-api-key";
const BREVO: &str = "https://developers.brevo.com/docs/getting-started";

/// The formats. Where the prefix of one begins that of another, the longer one comes first.
pub(super) const FORMATS: &[KeyFormat] = &[
    row("AKIA", Upper(16), AWS_KEY, AWS),
    row("ASIA", Upper(16), AWS_KEY, AWS),
    row("ABSK", Any(80), AWS_KEY, BEDROCK),
    row("sk_live_", Alnum(16), STRIPE_KEY, STRIPE),
    row("sk_live_", Chunk(8), STRIPE_KEY, STRIPE),
    row("sk_test_", Alnum(16), STRIPE_KEY, STRIPE),
    row("sk_test_", Chunk(8), STRIPE_KEY, STRIPE),
    row("pk_live_", Alnum(16), STRIPE_KEY, STRIPE),
    row("pk_live_", Chunk(8), STRIPE_KEY, STRIPE),
    row("pk_test_", Alnum(16), STRIPE_KEY, STRIPE),
    row("rk_live_", Alnum(16), STRIPE_KEY, STRIPE),
    row("rk_live_", Chunk(8), STRIPE_KEY, STRIPE),
    row("rk_test_", Alnum(16), STRIPE_KEY, STRIPE),
    row("whsec_", Any(24), STRIPE_KEY, STRIPE_HOOKS),
    row("github_pat_", Word(20), GH_TOKEN, GITHUB),
    row("ghp_", Alnum(36), GH_TOKEN, GITHUB),
    row("ghp_", Chunk(16), GH_TOKEN, GITHUB),
    row("gho_", Alnum(36), GH_TOKEN, GITHUB),
    row("gho_", Chunk(16), GH_TOKEN, GITHUB),
    row("ghu_", Alnum(36), GH_TOKEN, GITHUB),
    row("ghu_", Chunk(16), GH_TOKEN, GITHUB),
    row("ghs_", Alnum(36), GH_TOKEN, GITHUB),
    row("ghs_", Chunk(16), GH_TOKEN, GITHUB),
    row("ghr_", Alnum(36), GH_TOKEN, GITHUB),
    row("ghr_", Chunk(16), GH_TOKEN, GITHUB),
    row("sk-proj-", Word(16), OPENAI_KEY, OPENAI),
    row("sk-svcacct-", Word(20), OPENAI_KEY, OPENAI),
    row("sk-admin-", Word(20), OPENAI_KEY, OPENAI),
    row("sk-ant-", Word(20), API_KEY, ANTHROPIC),
    row(
        "sk-or-",
        Word(20),
        API_KEY,
        "https://openrouter.ai/docs/api-reference/authentication",
    ),
    row("sk-lf-", Chunk(8), API_KEY, "https://langfuse.com/docs/api"),
    row("sk-", Alnum(32), OPENAI_KEY, OPENAI),
    row("sk-", Chunk(16), OPENAI_KEY, OPENAI),
    row(
        "sk_",
        Hex(40),
        API_KEY,
        "https://elevenlabs.io/docs/api-reference/authentication",
    ),
    row(
        "gsk_",
        Word(20),
        API_KEY,
        "https://console.groq.com/docs/quickstart",
    ),
    row(
        "gsk_",
        Chunk(16),
        API_KEY,
        "https://console.groq.com/docs/quickstart",
    ),
    row(
        "xai-",
        Chunk(16),
        API_KEY,
        "https://docs.x.ai/docs/tutorial",
    ),
    row(
        "xai-",
        Alnum(40),
        API_KEY,
        "https://docs.x.ai/docs/tutorial",
    ),
    row(
        "pplx-",
        Chunk(16),
        API_KEY,
        "https://docs.perplexity.ai/getting-started/quickstart",
    ),
    row(
        "pplx-",
        Alnum(40),
        API_KEY,
        "https://docs.perplexity.ai/getting-started/quickstart",
    ),
    row(
        "r8_",
        Alnum(30),
        API_KEY,
        "https://replicate.com/docs/topics/security/api-tokens",
    ),
    row(
        "nvapi-",
        Word(40),
        API_KEY,
        "https://docs.api.nvidia.com/nim/reference/llm-apis",
    ),
    row(
        "csk-",
        Alnum(40),
        API_KEY,
        "https://inference-docs.cerebras.ai/quickstart",
    ),
    row(
        "fw_",
        Chunk(20),
        API_KEY,
        "https://docs.fireworks.ai/getting-started/quickstart",
    ),
    row(
        "tgp_v1_",
        Word(30),
        API_KEY,
        "https://docs.together.ai/docs/quickstart",
    ),
    row(
        "tvly-",
        Chunk(16),
        API_KEY,
        "https://docs.tavily.com/documentation/quickstart",
    ),
    row(
        "fc-",
        Hex(32),
        API_KEY,
        "https://docs.firecrawl.dev/introduction",
    ),
    row("jina_", Chunk(32), API_KEY, "https://jina.ai/reader"),
    row(
        "pcsk_",
        Word(40),
        API_KEY,
        "https://docs.pinecone.io/guides/projects/manage-api-keys",
    ),
    row("lsv2_pt_", Word(32), API_KEY, LANGSMITH),
    row("lsv2_sk_", Word(32), API_KEY, LANGSMITH),
    row("AIza", Word(30), GOOG_KEY, GOOGLE),
    row("GOCSPX-", Word(24), GOOG_KEY, GOOGLE_OAUTH),
    row("ya29.", Word(20), GOOG_KEY, GOOGLE_OAUTH),
    row("1//0", Word(40), GOOG_KEY, GOOGLE_OAUTH),
    row("xoxe.xoxp-", Word(10), TOKEN, SLACK),
    row("xoxe.xoxb-", Word(10), TOKEN, SLACK),
    row("xoxa-", Word(10), TOKEN, SLACK),
    row("xoxb-", Word(10), TOKEN, SLACK),
    row("xoxc-", Word(10), TOKEN, SLACK),
    row("xoxd-", Any(10), TOKEN, SLACK),
    row("xoxe-", Word(10), TOKEN, SLACK),
    row("xoxo-", Chunk(8), TOKEN, SLACK),
    row("xoxp-", Word(10), TOKEN, SLACK),
    row("xoxr-", Word(10), TOKEN, SLACK),
    row("xoxs-", Word(10), TOKEN, SLACK),
    row("xapp-", Chunk(9), TOKEN, SLACK),
    row("glpat-", Any(16), TOKEN, GITLAB),
    row("gldt-", Any(16), TOKEN, GITLAB),
    row("glrt-", Any(16), TOKEN, GITLAB),
    row("glrtr-", Any(16), TOKEN, GITLAB),
    row("glcbt-", Any(16), TOKEN, GITLAB),
    row("glptt-", Any(16), TOKEN, GITLAB),
    row("glft-", Any(16), TOKEN, GITLAB),
    row("glimt-", Any(16), TOKEN, GITLAB),
    row("glagent-", Any(16), TOKEN, GITLAB),
    row("glsoat-", Any(16), TOKEN, GITLAB),
    row("gloas-", Any(16), TOKEN, GITLAB),
    row("glffct-", Any(16), TOKEN, GITLAB),
    row("GR1348941", Word(18), TOKEN, GITLAB),
    row(
        "npm_",
        Alnum(30),
        TOKEN,
        "https://docs.npmjs.com/about-access-tokens",
    ),
    row(
        "npm_",
        Chunk(20),
        TOKEN,
        "https://docs.npmjs.com/about-access-tokens",
    ),
    row("pypi-", Chunk(16), TOKEN, "https://pypi.org/help/#apitoken"),
    row(
        "pypi-AgE",
        Word(16),
        TOKEN,
        "https://pypi.org/help/#apitoken",
    ),
    row(
        "rubygems_",
        Hex(40),
        TOKEN,
        "https://guides.rubygems.org/api-key-scopes/",
    ),
    row("hf_", Alnum(30), TOKEN, HUGGING_FACE),
    row("hf_", Chunk(20), TOKEN, HUGGING_FACE),
    row("api_org_", Alnum(30), TOKEN, HUGGING_FACE),
    row(
        "SG.",
        Any(40),
        TOKEN,
        "https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys",
    ),
    row(
        "SK",
        Hex(32),
        TOKEN,
        "https://www.twilio.com/docs/iam/api-keys",
    ),
    row(
        "key-",
        Hex(32),
        TOKEN,
        "https://documentation.mailgun.com/docs/mailgun/api-reference/mg-auth",
    ),
    row("xkeysib-", Word(40), TOKEN, BREVO),
    row("xsmtpsib-", Word(40), TOKEN, BREVO),
    row(
        "re_",
        Chunk(16),
        TOKEN,
        "https://resend.com/docs/dashboard/api-keys/introduction",
    ),
    row("sq0atp-", Word(20), TOKEN, SQUARE),
    row("sq0csp-", Word(20), TOKEN, SQUARE),
    row("EAAA", Word(56), TOKEN, SQUARE),
    row("shpat_", Alnum(32), TOKEN, SHOPIFY),
    row("shpca_", Alnum(32), TOKEN, SHOPIFY),
    row("shppa_", Alnum(32), TOKEN, SHOPIFY),
    row("shpss_", Alnum(32), TOKEN, SHOPIFY),
    row("shpua_", Alnum(32), TOKEN, SHOPIFY),
    row("dop_v1_", Alnum(40), TOKEN, DIGITALOCEAN),
    row("doo_v1_", Alnum(40), TOKEN, DIGITALOCEAN),
    row("dor_v1_", Alnum(40), TOKEN, DIGITALOCEAN),
    row(
        "dapi",
        Hex(32),
        TOKEN,
        "https://docs.databricks.com/aws/en/dev-tools/auth/pat",
    ),
    row("lin_api_", Alnum(32), TOKEN, LINEAR),
    row("lin_oauth_", Alnum(32), TOKEN, LINEAR),
    row("ntn_", Alnum(40), TOKEN, NOTION),
    row("secret_", Alnum(40), TOKEN, NOTION),
    row("dp.pt.", Alnum(40), TOKEN, DOPPLER),
    row("dp.st.", Any(40), TOKEN, DOPPLER),
    row("dp.ct.", Alnum(40), TOKEN, DOPPLER),
    row("dp.sa.", Alnum(40), TOKEN, DOPPLER),
    row("dp.scim.", Alnum(40), TOKEN, DOPPLER),
    row("dp.audit.", Alnum(40), TOKEN, DOPPLER),
    row("hvs.", Word(24), TOKEN, VAULT),
    row("hvb.", Word(24), TOKEN, VAULT),
    row("hvr.", Word(24), TOKEN, VAULT),
    row("dckr_pat_", Word(24), TOKEN, DOCKER),
    row("dckr_oat_", Word(24), TOKEN, DOCKER),
    row(
        "AGE-SECRET-KEY-PQ-1",
        Upper(50),
        PRIVATE_KEY,
        "https://github.com/FiloSottile/age",
    ),
    row(
        "AGE-SECRET-KEY-1",
        Upper(50),
        PRIVATE_KEY,
        "https://github.com/C2SP/C2SP/blob/main/age.md",
    ),
    row("cfk_", Alnum(40), TOKEN, CLOUDFLARE),
    row("cfut_", Alnum(40), TOKEN, CLOUDFLARE),
    row("cfat_", Alnum(40), TOKEN, CLOUDFLARE),
    row(
        "v1.0-",
        Any(100),
        TOKEN,
        "https://developers.cloudflare.com/fundamentals/api/get-started/ca-keys/",
    ),
    row("vcp_", Chunk(20), TOKEN, VERCEL),
    row("vci_", Chunk(20), TOKEN, VERCEL),
    row("vca_", Chunk(20), TOKEN, VERCEL),
    row("vcr_", Chunk(20), TOKEN, VERCEL),
    row("vck_", Chunk(20), TOKEN, VERCEL),
    row("sbp_", Hex(40), TOKEN, SUPABASE),
    row("sb_secret_", Word(20), TOKEN, SUPABASE),
    row(
        "PMAK-",
        Word(50),
        TOKEN,
        "https://learning.postman.com/docs/developer/postman-api/authentication/",
    ),
    row("NRAK-", Upper(25), TOKEN, NEW_RELIC),
    row("NRII-", Word(25), TOKEN, NEW_RELIC),
    row("fo1_", Word(40), TOKEN, FLY),
    row("fm1r_", Any(80), TOKEN, FLY),
    row("fm1a_", Any(80), TOKEN, FLY),
    row("fm2_", Any(80), TOKEN, FLY),
    row("pscale_tkn_", Any(32), TOKEN, PLANETSCALE),
    row("pscale_oauth_", Any(32), TOKEN, PLANETSCALE),
    row("pscale_pw_", Any(32), TOKEN, PLANETSCALE),
    row(
        "pul-",
        Hex(40),
        TOKEN,
        "https://www.pulumi.com/docs/administration/access-identity/access-tokens/",
    ),
    row("glsa_", Word(32), TOKEN, GRAFANA),
    row("glc_", Any(40), TOKEN, GRAFANA),
    row("sntrys_", Any(40), TOKEN, SENTRY),
    row("sntryu_", Hex(64), TOKEN, SENTRY),
    row(
        "dt0c01.",
        Any(80),
        TOKEN,
        "https://docs.dynatrace.com/docs/dynatrace-api/basics/dynatrace-api-authentication",
    ),
    row(
        "figd_",
        Word(40),
        TOKEN,
        "https://www.figma.com/developers/api#access-tokens",
    ),
    row("ATATT3", Any(60), TOKEN, ATLASSIAN),
    row("ATCTT3", Any(60), TOKEN, ATLASSIAN),
    row("ATBB", Alnum(28), TOKEN, ATLASSIAN),
    row(
        "CFPAT-",
        Word(40),
        TOKEN,
        "https://www.contentful.com/help/token-management/personal-access-tokens/",
    ),
    row(
        "HRKU-",
        Word(36),
        TOKEN,
        "https://devcenter.heroku.com/articles/authentication",
    ),
    row(
        "tskey-",
        Word(20),
        TOKEN,
        "https://tailscale.com/kb/1277/key-prefixes",
    ),
    row(
        "sl.",
        Word(100),
        TOKEN,
        "https://www.dropbox.com/developers/documentation/http/documentation",
    ),
    row(
        "bkua_",
        Hex(40),
        TOKEN,
        "https://buildkite.com/docs/apis/managing-api-tokens",
    ),
    row(
        "CCIPAT_",
        Word(30),
        TOKEN,
        "https://circleci.com/docs/managing-api-tokens/",
    ),
    row(
        "sgp_",
        Word(40),
        TOKEN,
        "https://sourcegraph.com/docs/cli/how-tos/creating_an_access_token",
    ),
    row("squ_", Hex(40), TOKEN, SONAR),
    row("sqp_", Hex(40), TOKEN, SONAR),
    row("sqa_", Hex(40), TOKEN, SONAR),
    row(
        "nfp_",
        Alnum(30),
        TOKEN,
        "https://docs.netlify.com/api/get-started/#authentication",
    ),
    row(
        "shippo_live_",
        Hex(40),
        TOKEN,
        "https://docs.goshippo.com/docs/guides_general/authentication/",
    ),
    row(
        "duffel_live_",
        Word(40),
        TOKEN,
        "https://duffel.com/docs/api/overview/authentication",
    ),
    row(
        "AKCp",
        Alnum(60),
        TOKEN,
        "https://jfrog.com/help/r/jfrog-platform-administration-documentation/access-tokens",
    ),
    row(
        "tfp_",
        Word(40),
        TOKEN,
        "https://www.typeform.com/developers/get-started/personal-access-token/",
    ),
    row(
        "mfa.",
        Word(80),
        TOKEN,
        "https://discord.com/developers/docs/reference#authentication",
    ),
    row(
        "tk_",
        Chunk(16),
        TOKEN,
        "https://docs.ntfy.sh/config/#access-tokens",
    ),
    row(
        "cio",
        Chunk(32),
        TOKEN,
        "https://doc.rust-lang.org/cargo/reference/registry-authentication.html",
    ),
];

/// Any of the prefixes.
static PREFIX: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let mut prefixes: Vec<&str> = FORMATS.iter().map(|format| format.prefix).collect();
    // The longest first: after "sk-ant-" the letters may be too few for "sk-".
    prefixes.shared_sort_by_key(|prefix| std::cmp::Reverse(prefix.len()));
    prefixes.dedup();
    let any: Vec<String> = prefixes.into_iter().map(regex::escape).collect();
    Regex::new(&any.join("|")).ok()
});

/// The keys of a known format in `text`.
pub(super) fn keys(text: &str) -> Vec<Hit> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(prefix) = PREFIX.as_ref().and_then(|any| any.find_at(text, at)) {
        let start = prefix.start();
        at = start + 1;
        if !is_beginning(text, start, prefix.as_str()) {
            continue;
        }
        let rest = text.get(start..).unwrap_or_default();
        let key = FORMATS.iter().find_map(|format| {
            let after = rest.strip_prefix(format.prefix)?;
            let len = format.rest.length(after)?;
            Some((format.prefix.len() + len, format.label))
        });
        if let Some((len, label)) = key {
            at = start + len;
            found.push(Hit::whole(start..at, label));
        }
    }
    found
}

/// True when a key may begin at `start`: after a letter or digit only where that ends an escape (`\n`, `%0A`) that stands for something else.
fn is_beginning(text: &str, start: usize, prefix: &str) -> bool {
    let before = text.get(..start).unwrap_or_default().as_bytes();
    match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => true,
        // A short prefix occurs within other keys too.
        [.., b'_' | b'-' | b'.'] => prefix.len() > 3 && prefix.ends_with(['_', '-', '.']),
        [.., last] => !last.is_ascii_alphanumeric() && *last != b'+',
        [] => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_names_the_page_that_tells_it_and_longer_prefixes_come_first() {
        for (at, format) in FORMATS.iter().enumerate() {
            assert!(format.source.starts_with("https://"), "{}", format.prefix);
            for earlier in &FORMATS[..at] {
                let is_hidden = format.prefix != earlier.prefix
                    && format.prefix.starts_with(earlier.prefix)
                    && format.label != earlier.label;
                assert!(!is_hidden, "{} before {}", earlier.prefix, format.prefix);
            }
        }
        assert!(PREFIX.is_some());
    }
}
