//! What is asked, and of whom.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::families::{self, FAMILIES, Family};
use marvin::testing::llm;
use marvin::testing::services::variable;

/// Which model answers.
#[derive(Debug, Clone)]
pub(crate) enum Model {
    /// One that plays a script.
    Scripted(&'static Family),
    /// One of a provider, whose address is `base`.
    Real {
        provider: String,
        name: String,
        base: String,
    },
}

impl Model {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Scripted(family) => format!("scripted:{}", family.name),
            Self::Real { provider, name, .. } => format!("{provider}:{name}"),
        }
    }

    /// Its name as a part of a file's.
    pub(crate) fn file_name(&self) -> String {
        self.name()
            .replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-")
    }
}

/// The parts of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Cases,
    Questions,
    Conversations,
}

impl Part {
    pub(crate) const ALL: [Self; 3] = [Self::Cases, Self::Questions, Self::Conversations];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Cases => "cases",
            Self::Questions => "questions",
            Self::Conversations => "conversations",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Options {
    model: String,
    provider: String,
    /// Of each part, at most so many, from all of it.
    pub limit: usize,
    pub only: Option<Part>,
    /// Marvin remembers, which takes more calls.
    pub memory: bool,
    /// Where recordings go.
    pub keep: PathBuf,
    /// A reply takes no longer.
    pub reply_limit: Duration,
    pub prompts: bool,
}

impl Options {
    /// The options on the command line; `None` when no model is named.
    pub(crate) fn parse(args: &[String]) -> Result<Option<Self>, String> {
        let mut options = Self {
            model: String::new(),
            provider: "ollama".to_owned(),
            limit: usize::MAX,
            only: None,
            memory: false,
            keep: PathBuf::from("target/evaluate"),
            reply_limit: Duration::from_secs(600),
            prompts: false,
        };
        if !args
            .iter()
            .any(|arg| arg == "--model" || arg == "--prompts")
        {
            return Ok(None);
        }
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value."));
            match arg.as_str() {
                "--model" => options.model.clone_from(value()?),
                "--provider" => options.provider.clone_from(value()?),
                "--keep" => options.keep = PathBuf::from(value()?),
                "--memory" => options.memory = true,
                "--prompts" => options.prompts = true,
                "--limit" | "--seconds" => {
                    let number: u32 = value()?
                        .parse()
                        .map_err(|_| format!("{arg} needs a number."))?;
                    match arg == "--limit" {
                        true => options.limit = number as usize,
                        false => options.reply_limit = Duration::from_secs(number.into()),
                    }
                }
                "--only" => {
                    let name = value()?;
                    let part = Part::ALL.into_iter().find(|part| part.name() == name);
                    options.only =
                        Some(part.ok_or("--only takes cases, questions or conversations.")?);
                }
                _ => return Err(format!("\"{arg}\" is no option of an evaluation.")),
            }
        }
        let family = options.model.strip_prefix("scripted:");
        if let Some(family) = family.filter(|name| !name.is_empty())
            && families::find(family).is_none()
        {
            let names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
            return Err(format!(
                "There is no family \"{family}\": {}.",
                names.join(", ")
            ));
        }
        if family.is_none() && llm::row(&options.provider).is_none() {
            return Err(format!("There is no provider \"{}\".", options.provider));
        }
        Ok(Some(options))
    }

    /// A few of everything.
    pub(crate) fn short(keep: &Path) -> Self {
        Self {
            model: String::new(),
            provider: String::new(),
            limit: 2,
            only: None,
            memory: false,
            keep: keep.to_owned(),
            reply_limit: Duration::from_secs(60),
            prompts: false,
        }
    }

    /// The models that are meant.
    pub(crate) fn models(&self) -> Vec<Model> {
        match self.model.strip_prefix("scripted:") {
            Some("") => FAMILIES.iter().map(Model::Scripted).collect(),
            Some(family) => families::find(family)
                .map(Model::Scripted)
                .into_iter()
                .collect(),
            None => vec![Model::Real {
                provider: self.provider.clone(),
                name: self.model.clone(),
                base: base_of(&self.provider),
            }],
        }
    }
}

/// The address of a provider: that of Marvin's own variables, and otherwise its usual one.
fn base_of(provider: &str) -> String {
    let upper = provider.to_uppercase().replace('-', "_");
    let set = [format!("{upper}_URL"), variable(provider)];
    let set = set.iter().find_map(|name| env::var(name).ok());
    set.unwrap_or_else(|| llm::row(provider).map_or_else(String::new, |row| row.base.to_owned()))
}
