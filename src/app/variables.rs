//! All environment variables, including those of providers and services, and `config.yaml`, which provides values for unset ones.

use serde_json::Value;

use crate::app::settings::sandbox::{SANDBOX_FAULT, on_or_off};
use crate::base::env::Env;
use crate::base::text;
use crate::base::variables::{
    MARVIN_LEASH, MARVIN_SANDBOX, MARVIN_SANDBOX_EXCLUDE_TMP, MARVIN_SANDBOX_LOCAL_SOCKETS,
    MARVIN_SANDBOX_NETWORK, MARVIN_SANDBOX_WRITABLE, TABLE,
};
use crate::disk::paths::Paths;
use crate::disk::{atomic, yaml};
use crate::llm::catalog::{self, ROWS, UrlForm};
use crate::llm::choose;
use crate::net::keys;
use crate::net::services::{self, SERVICES, Service};
use crate::reply::settings;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable {
    pub name: String,
    pub doc: String,
    /// Holds a secret: never written to a file or log, never passed to a child.
    pub secret: bool,
}

/// Every variable that Marvin reads.
pub(crate) fn all() -> impl Iterator<Item = Variable> {
    let secret = |name: &str, doc: String| Variable {
        name: name.to_owned(),
        doc,
        secret: true,
    };
    let declared = TABLE.iter().map(|row| Variable {
        name: row.name.to_owned(),
        doc: row.doc.to_owned(),
        secret: row.is_secret,
    });
    let mut list: Vec<Variable> = declared.collect();
    for row in ROWS {
        if let Some(key) = row.key {
            list.push(secret(key, format!("key of {}", row.name)));
        }
        list.extend(row.other_keys.iter().map(|other| {
            let unless = row
                .key
                .map_or_else(String::new, |key| format!(", when {key} is not set"));
            secret(other, format!("key of {}{unless}", row.name))
        }));
        list.extend(row.token.map(|token| {
            let doc = format!(
                "bearer token of a gateway to {}, which its address names",
                row.name
            );
            secret(token, doc)
        }));
        list.push(Variable {
            name: catalog::variable(row.name, "MODEL"),
            doc: format!("model of {} ({})", row.name, row.model),
            secret: false,
        });
        list.push(Variable {
            name: catalog::variable(row.name, "URL"),
            doc: format!("address of {} ({})", row.name, row.base),
            secret: false,
        });
        if let Some(wire) = choose::wire_word(row.wire) {
            list.push(Variable {
                name: catalog::variable(row.name, "WIRE"),
                doc: format!(
                    "interface of {}: responses or completions ({wire})",
                    row.name
                ),
                secret: false,
            });
        }
        list.push(Variable {
            name: services::variable(row.name),
            doc: format!("the same, for {}", row.name),
            secret: false,
        });
        list.extend(row.other_urls.iter().map(|other| Variable {
            name: other.variable.to_owned(),
            doc: format!(
                "address of {}{}, when {} is not set",
                row.name,
                match other.form {
                    UrlForm::Before(path) => format!(" before {path}"),
                    UrlForm::OllamaHost => ": a host, :port or both".to_owned(),
                    UrlForm::Base => String::new(),
                },
                catalog::variable(row.name, "URL"),
            ),
            secret: false,
        }));
    }
    list.extend(settings::rows::ROWS.iter().map(|row| Variable {
        name: row.variable(),
        doc: format!("reply flow: {}", row.doc),
        secret: false,
    }));
    for service in SERVICES {
        if let Some(key) = service
            .key
            .filter(|key| !list.iter().any(|variable| variable.name == *key))
        {
            list.push(secret(key, format!("key of {}", service.id)));
        }
        list.push(Variable {
            name: services::variable(service.id),
            doc: address(service),
            secret: false,
        });
    }
    list.into_iter()
}

fn address(service: &Service) -> String {
    let doc = format!("address of {} ({})", service.id, service.base);
    // Few users run a server for each mode of travel.
    if service.id.starts_with("osrm-") {
        return format!("{doc}; \"none\" disables it");
    }
    doc
}

/// Values of the secret variables that are set; they are masked in everything that is written.
pub(crate) fn secrets(env: &Env) -> Vec<String> {
    all()
        .filter(|variable| variable.secret)
        .filter_map(|variable| keys::find(env, &variable.name))
        .collect()
}

/// Reads `config.yaml` as defaults for the environment and returns what is wrong with it.
pub(crate) fn layer(env: &mut Env) -> Vec<String> {
    let path = match Paths::new(env).settings() {
        Ok(path) if path.exists() => path,
        _ => return Vec::new(),
    };
    let map = match yaml::read_keys(&path) {
        Ok(map) => map.unwrap_or_default(),
        Err(problem) => {
            let text = atomic::read_text(&path, yaml::CAP).ok().flatten();
            if text.is_some_and(|text| text.to_ascii_lowercase().contains(SANDBOX_KEY)) {
                env.set_below(SANDBOX_FAULT, problem.one_line());
            }
            return vec![problem.one_line()];
        }
    };
    let known: Vec<Variable> = all().collect();
    let mut warnings = Vec::new();
    let mut map = map;
    if let Some(sandbox) = map.shift_remove(SANDBOX_KEY)
        && let Err(fault) = sandbox_values(&sandbox, env)
    {
        env.set_below(SANDBOX_FAULT, fault.clone());
        warnings.push(fault);
    }
    for (name, value) in &map {
        let shown = text::escape_controls(&text::clip(name, 60));
        match known.iter().find(|variable| variable.name == *name) {
            Some(_) if *name == MARVIN_LEASH.name => warnings.push(format!("config.yaml: {shown} is set by a Marvin for its children and not read from there: every run without a parent would end at once.")),
            Some(variable) if variable.secret => warnings.push(format!("config.yaml: {shown} is a key; keys are not read from there. Set it in the environment.")),
            Some(_) => match value {
                Value::String(text) => env.set_below(name, text.clone()),
                Value::Bool(flag) => env.set_below(name, if *flag { "1" } else { "0" }.to_owned()),
                Value::Number(number) => env.set_below(name, number.to_string()),
                _ => {
                    let fault = format!("config.yaml: {shown} must be one value.");
                    if name.starts_with(MARVIN_SANDBOX.name) {
                        env.set_below(SANDBOX_FAULT, fault.clone());
                    }
                    warnings.push(fault);
                }
            },
            None => {
                let near = text::did_you_mean(name, known.iter().map(|variable| variable.name.as_str()));
                warnings.push(format!("config.yaml: there is no setting \"{shown}\"{}", near.map_or_else(|| "; marvin help variables lists them.".to_owned(), |near| format!("; {near}"))));
            }
        }
    }
    warnings
}

/// The key of `config.yaml` that holds all of the sandbox's settings.
const SANDBOX_KEY: &str = "sandbox";

/// The settings in that key's value, as variables; a mode alone is one too. What cannot be read is an error: commands would be held less than was meant.
fn sandbox_values(value: &Value, env: &mut Env) -> Result<(), String> {
    let fields = match value {
        Value::Object(fields) => fields,
        Value::Null => return Ok(()),
        Value::String(mode) => {
            env.set_below(MARVIN_SANDBOX.name, mode.clone());
            return Ok(());
        }
        _ => {
            let fault = "config.yaml: sandbox must be a mode, or a list of \"key: value\" lines.";
            return Err(fault.to_owned());
        }
    };
    for (name, value) in fields {
        let variable = match name.as_str() {
            "mode" => MARVIN_SANDBOX.name,
            "network" => MARVIN_SANDBOX_NETWORK.name,
            "writable" => MARVIN_SANDBOX_WRITABLE.name,
            "exclude_tmp" => MARVIN_SANDBOX_EXCLUDE_TMP.name,
            "local_sockets" => MARVIN_SANDBOX_LOCAL_SOCKETS.name,
            _ => {
                let shown = text::escape_controls(&text::clip(name, 60));
                return Err(format!(
                    "config.yaml: sandbox has no setting \"{shown}\". It has mode, network, writable, exclude_tmp and local_sockets."
                ));
            }
        };
        let is_switch = variable == MARVIN_SANDBOX_EXCLUDE_TMP.name
            || variable == MARVIN_SANDBOX_LOCAL_SOCKETS.name;
        let text = match value {
            Value::String(text) if is_switch && on_or_off(text).is_none() => {
                return Err(format!("config.yaml: {name} of sandbox is on or off."));
            }
            Value::String(text) => text.clone(),
            // YAML reads on and off as yes and no.
            Value::Bool(is_on) => if *is_on { "on" } else { "off" }.to_owned(),
            Value::Array(list) => {
                let words = list.iter().filter_map(Value::as_str);
                words.collect::<Vec<_>>().join(":")
            }
            _ => return Err(format!("config.yaml: {name} of sandbox must be one value.")),
        };
        env.set_below(variable, text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_a_provider_that_needs_none_is_masked_too() {
        let env = Env::from([("OLLAMA_API_KEY", "o-secret")]);
        assert_eq!(secrets(&env), ["o-secret"]);
    }

    #[test]
    fn the_table_has_no_doubles() {
        let mut names: Vec<String> = all().map(|variable| variable.name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn the_sandbox_can_be_one_key_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join("config.yaml"),
            "sandbox: {mode: workspace-write, network: off, writable: [~/a, /b], exclude_tmp: true}\n",
        )
        .unwrap();
        let begin = || Env::from([("MARVIN_CONFIG_DIR", dir.path().to_str().unwrap())]);
        let mut env = begin();
        assert!(layer(&mut env).is_empty() && env.get(SANDBOX_FAULT).is_none());
        assert_eq!(MARVIN_SANDBOX.read(&env), Some("workspace-write"));
        assert_eq!(MARVIN_SANDBOX_NETWORK.read(&env), Some("off"));
        assert_eq!(MARVIN_SANDBOX_WRITABLE.read(&env), Some("~/a:/b"));
        assert!(MARVIN_SANDBOX_EXCLUDE_TMP.read(&env) && !MARVIN_SANDBOX_LOCAL_SOCKETS.read(&env));

        let file = dir.path().join("config.yaml");
        std::fs::write(&file, "sandbox: read-only\n").unwrap();
        let mut env = begin();
        layer(&mut env);
        assert_eq!(MARVIN_SANDBOX.read(&env), Some("read-only"));
        // What cannot be read must not end in a sandbox that holds less.
        for wrong in [
            "sandbox: 3",
            "sandbox: {mod: read-only}",
            "sandbox: {exclude_tmp: maybe}",
            "sandbox: {exclude_tmp: 3}",
            "MARVIN_SANDBOX: [read-only]",
            "sandbox: {mode: read-only",
        ] {
            std::fs::write(&file, wrong).unwrap();
            let mut env = begin();
            layer(&mut env);
            assert!(env.get(SANDBOX_FAULT).is_some(), "{wrong}");
        }
    }

    #[test]
    fn the_file_sets_what_the_environment_does_not_and_slips_are_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join("config.yaml"),
            "LLM_PROVIDER: groq\nMARVIN_DEPTH: 2\nMARVIN_TOLS: git\nOPENAI_API_KEY: x\nWISPER_MODEL: x\nMARVIN_LEASH: 1\n",
        )
        .unwrap();
        let mut env = Env::from([
            ("MARVIN_CONFIG_DIR", dir.path().to_str().unwrap()),
            ("MARVIN_DEPTH", "1"),
        ]);
        let warnings = layer(&mut env);
        assert_eq!(
            (
                env.get("LLM_PROVIDER"),
                env.get("MARVIN_DEPTH"),
                env.get("OPENAI_API_KEY"),
                env.get("MARVIN_LEASH"),
            ),
            (Some("groq"), Some("1"), None, None)
        );
        assert!(
            warnings.len() == 4
                && warnings.concat().contains("no setting \"WISPER_MODEL\"")
                && warnings.concat().contains("\"MARVIN_TOOLS\"")
                && warnings.concat().contains("keys are not read")
                && warnings
                    .concat()
                    .contains("MARVIN_LEASH is set by a Marvin"),
            "{warnings:?}"
        );
    }
}
