//! Which values of an entry are secrets, so that what a server says can be kept free of them.

use serde_json::Value;

use super::entry::{EntrySecrets, HttpReach, NamedValue, Reach};
use super::expand::{self, Variables};
use crate::base::word_list::WordList;

/// Bytes of a secret; a shorter value is part of too many words.
const MIN_BYTES: usize = 8;
/// Headers that let in.
const LETS_IN: WordList = WordList("authorization proxy-authorization cookie");
/// Variables that everybody knows.
const EVERYBODYS: WordList = WordList("HOME PATH USER LOGNAME SHELL LANG TERM TMPDIR TZ PWD");

/// The secrets of an entry that is reached so.
pub(super) fn find(entry: &Value, reach: &Reach, variables: Variables<'_>) -> EntrySecrets {
    let mut secrets = EntrySecrets::default();
    match reach {
        Reach::Stdio { env, .. } => {
            for (name, value) in env.iter().filter(|(name, value)| may_be_one(name, value)) {
                let raw = entry.get("env").and_then(|env| env.get(name));
                // What is not in env is from the envFile.
                let is_given = raw.is_none_or(has_variable);
                secrets.named.push(NamedValue {
                    name: name.clone(),
                    value: value.clone(),
                    is_given,
                });
            }
            let args = entry.get("args").and_then(Value::as_array);
            let args = args.into_iter().flatten().filter_map(Value::as_str);
            secrets
                .values
                .extend(args.flat_map(|arg| given(arg, variables)));
        }
        Reach::Http(http) | Reach::Sse(http) => of_web(entry, http, variables, &mut secrets),
    }
    secrets
}

fn of_web(entry: &Value, http: &HttpReach, variables: Variables<'_>, secrets: &mut EntrySecrets) {
    for (name, value) in &http.headers {
        let raw = entry.get("headers").and_then(|headers| headers.get(name));
        // After the name of a scheme.
        let key = value.split_once(' ').map_or(value.as_str(), |(_, key)| key);
        if key.len() < MIN_BYTES {
            continue;
        }
        match LETS_IN.has(&name.to_ascii_lowercase()) || raw.is_some_and(has_variable) {
            true => secrets.keys.push(key.to_owned()),
            false => secrets.named.push(NamedValue {
                name: name.clone(),
                value: key.to_owned(),
                is_given: false,
            }),
        }
    }
    let url = entry.get("url").or_else(|| entry.get("httpUrl"));
    let query = url
        .and_then(Value::as_str)
        .and_then(|url| url.split_once('?'));
    if let Some((_, query)) = query {
        secrets.keys.extend(given(query, variables));
    }
}

fn has_variable(raw: &Value) -> bool {
    raw.as_str()
        .is_some_and(|raw| expand::names(raw).next().is_some())
}

/// The values that variables of a text have, as far as they may be secrets.
fn given(raw: &str, variables: Variables<'_>) -> Vec<String> {
    if variables.is_literal {
        return Vec::new();
    }
    let value = |name: &str| {
        let value = variables.expand(&format!("${{{name}}}")).ok()?;
        may_be_one(name, &value).then_some(value)
    };
    expand::names(raw).filter_map(value).collect()
}

/// Folders, sentences and short values are none.
fn may_be_one(name: &str, value: &str) -> bool {
    value.len() >= MIN_BYTES
        && !EVERYBODYS.has(name)
        && !value.starts_with(['/', '.', '~'])
        && !value.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::env::Env;
    use crate::mcp::config::configured::{ConfiguredServer, Source};

    fn secrets(entry: Value) -> EntrySecrets {
        let server = ConfiguredServer {
            name: "s".to_owned(),
            source: Source::User,
            entry,
        };
        let env = Env::from([
            ("HOME", "/home/ada-lovelace"),
            ("TK", "tokensecret888"),
            ("XK", "xkeysecret999"),
            ("QK", "querysecret777"),
            ("SHORT", "on"),
        ]);
        let variables = Variables {
            env: &env,
            folder: None,
            is_literal: false,
        };
        server.resolve(variables).unwrap().0.secrets.settled()
    }

    #[test]
    fn keys_are_known_by_their_names_and_by_the_variables_that_they_come_from() {
        let found = secrets(json!({
            "url": "https://${SHORT}.example/mcp?key=${QK}&v=2",
            "headers": {"Authorization": "Bearer ${TK}", "X-Key": "${XK}", "X-Region": "eu-central-1", "Cookie": "s=literal1"},
        }));
        assert_eq!(
            found.keys,
            [
                "tokensecret888",
                "xkeysecret999",
                "s=literal1",
                "querysecret777"
            ]
        );
        assert!(found.values.is_empty());
        let found = secrets(json!({
            "command": "run", "args": ["--key=${QK}", "${SHORT}"],
            "env": {"K": "${XK}", "API_KEY": "literal-key-1", "DIR": "${HOME}", "MODE": "production"},
        }));
        assert_eq!(found.keys, ["literal-key-1"]);
        assert_eq!(found.values, ["querysecret777", "xkeysecret999"]);
    }
}
