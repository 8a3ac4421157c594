//! What one command may do, as the layer in front of it is told.

use serde::{Deserialize, Serialize};

use crate::base::problem::{Outcome, Problem};

/// Longest policy in bytes: it is one argument.
pub(super) const MAX_POLICY_BYTES: usize = 64 << 10;

/// How much commands may do. Later is weaker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SandboxMode {
    /// They change nothing.
    #[default]
    ReadOnly,
    /// They change the workspace and temporary files.
    WorkspaceWrite,
    /// They do what the user can.
    DangerFullAccess,
}

impl SandboxMode {
    pub(crate) const ALL: [Self; 3] =
        [Self::ReadOnly, Self::WorkspaceWrite, Self::DangerFullAccess];

    /// As flags, variables and events name it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
        }
    }

    /// # Errors
    /// It is none of them.
    pub(crate) fn parse(text: &str) -> Outcome<Self> {
        let word = text.trim();
        Self::ALL
            .into_iter()
            .find(|mode| mode.word() == word)
            .ok_or_else(|| {
                let words = Self::ALL.map(Self::word);
                Problem::input(format!("\"{word}\" is no mode of the sandbox.")).near_or(
                    word,
                    words,
                    format!("One of: {}.", words.join(", ")),
                )
            })
    }
}

/// What the layer is told, as JSON. A field that it does not know is an error: it must not hold less than was meant. By itself it permits nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Policy {
    pub mode: SandboxMode,
    /// Internet sockets can be made; otherwise nothing connects.
    pub network: bool,
    /// Sockets of this machine's own programs can be made beside an open network.
    #[serde(default)]
    pub local_sockets: bool,
    /// Real paths of folders and files that may be changed.
    #[serde(default)]
    pub writable: Vec<String>,
    /// What may be read, when that is not everything: real paths, and names of entries of the current folder, which may be
    /// listed then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readable: Option<Vec<String>>,
    /// Use no more of Landlock than this version has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_abi: Option<u32>,
    /// The descriptor on which the layer tells of its own failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<u32>,
}

impl Policy {
    pub(in crate::proc) fn to_json(&self) -> Outcome<String> {
        let text = serde_json::to_string(self)
            .map_err(|error| Problem::internal("A sandbox policy is no JSON.").because(error))?;
        match text.len() <= MAX_POLICY_BYTES {
            true => Ok(text),
            false => Err(Problem::limit(format!(
                "The folders that commands may write take {} bytes to name; the limit is {MAX_POLICY_BYTES}.",
                text.len()
            ))
            .next("Name fewer folders, or one that holds them.")),
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_POLICY_BYTES {
            return Err(format!(
                "the policy has {} bytes; the limit is {MAX_POLICY_BYTES}",
                text.len()
            ));
        }
        serde_json::from_str(text).map_err(|error| format!("the policy cannot be read: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_ordered_from_strict_to_weak_and_known_by_their_words() {
        for mode in SandboxMode::ALL {
            assert_eq!(SandboxMode::parse(mode.word()).unwrap(), mode);
        }
        assert!(SandboxMode::ALL.is_sorted());
        let problem = SandboxMode::parse("readonly").unwrap_err().one_line();
        assert!(problem.contains("read-only"), "{problem}");
    }

    #[test]
    fn a_policy_is_read_as_it_was_written_and_nothing_else_is_accepted() {
        let policy = Policy {
            mode: SandboxMode::WorkspaceWrite,
            network: true,
            local_sockets: false,
            writable: vec!["/a\nb \"c\"".to_owned()],
            readable: None,
            max_abi: None,
            report: Some(5),
        };
        let text = policy.to_json().unwrap();
        assert_eq!(Policy::parse(&text).unwrap(), policy);
        for wrong in [
            "",
            "{}",
            "[]",
            r#"{"mode":"none","network":false}"#,
            r#"{"mode":"read-only","network":false,"more":1}"#,
            r#"{"mode":"read-only","network":"off"}"#,
        ] {
            assert!(Policy::parse(wrong).is_err(), "{wrong}");
        }
        let long = Policy {
            writable: vec!["/x".repeat(MAX_POLICY_BYTES)],
            ..policy
        };
        assert!(long.to_json().is_err());
        assert!(Policy::parse(&" ".repeat(MAX_POLICY_BYTES + 1)).is_err());
    }
}
