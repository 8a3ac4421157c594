//! The cases: what a body must decode to, and where the bodies stand.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::llm::catalog::{ProviderSpec, row};
use crate::llm::wire::Wire;

#[derive(Deserialize)]
pub(super) struct Index {
    pub(super) recordings: Vec<Recording>,
    /// `responses`, or nothing.
    #[serde(default)]
    pub(super) wire: String,
}

#[derive(Deserialize)]
pub(super) struct Recording {
    pub(super) file: String,
    pub(super) status: u16,
    pub(super) expected: Expected,
    /// The dialect; without it the file's name tells.
    #[serde(skip)]
    pub(super) wire: Option<Wire>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Expected {
    /// `complete`, `error`, `truncated`, or `broken`: it is no reply.
    pub(super) outcome: String,
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) tool_calls: Vec<Call>,
    pub(super) finish_reason: Option<String>,
    pub(super) usage: Option<Counts>,
    pub(super) error: Option<Error>,
    pub(super) signatures: Vec<String>,
    /// The messages of a reply over the Responses wire.
    pub(super) messages: Vec<PhasedText>,
    pub(super) refusal: String,
    /// The items that go back, in order.
    pub(super) replay: Option<Vec<String>>,
    pub(super) done_marker: bool,
    pub(super) events: usize,
    #[serde(flatten)]
    pub(super) seen: Seen,
}

/// What the rest of the program sees; only our own cases say it.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Seen {
    /// What the case shows, for a reader.
    pub(super) about: String,
    /// The provider that is asked.
    pub(super) provider: Option<String>,
    pub(super) status: Option<u16>,
    /// Why the reply ended.
    pub(super) finish: Option<String>,
    /// The sort of failure.
    pub(super) why: Option<String>,
    /// Words that the user reads.
    pub(super) says: String,
}

#[derive(Deserialize, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments_raw: Option<String>,
    pub(super) arguments: Value,
}

#[derive(Deserialize, Debug, Default)]
pub(super) struct PhasedText {
    pub(super) text: String,
}

#[derive(Deserialize, Debug, Default, PartialEq)]
#[serde(default)]
pub(super) struct Counts {
    pub(super) prompt: Option<u64>,
    pub(super) completion: Option<u64>,
    pub(super) total: Option<u64>,
    pub(super) cached: Option<u64>,
    pub(super) cache_write: Option<u64>,
    pub(super) reasoning: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Error {
    pub(super) message: String,
    #[serde(default)]
    pub(super) code: Value,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
}

/// The recordings, beside the project or its worktrees.
pub(super) fn index(wire: &str) -> Option<(PathBuf, Index)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = ["../shared/recordings", "../../shared/recordings"]
        .into_iter()
        .find_map(|place| {
            let folder = here.join(place).join(wire);
            let text = std::fs::read(folder.join("INDEX.json")).ok()?;
            let mut index: Index = serde_json::from_slice(&text).unwrap();
            for recording in index
                .recordings
                .iter_mut()
                .filter(|_| index.wire == "responses")
            {
                recording.wire = Some(Wire::Responses);
                // A blank line parts two messages.
                let texts: Vec<&str> = recording
                    .expected
                    .messages
                    .iter()
                    .map(|m| m.text.as_str())
                    .collect();
                recording.expected.text = texts
                    .into_iter()
                    .filter(|text| !text.is_empty())
                    .collect::<Vec<_>>()
                    .join("\n\n");
            }
            Some((folder, index))
        });
    if found.is_none() {
        eprintln!("skipped: there is no folder ../shared/recordings beside the project");
    }
    found
}

/// The dialects by the names of their folders.
pub(super) const WIRES: [(&str, Wire); 4] = [
    ("anthropic", Wire::Anthropic),
    ("ollama", Wire::Ollama),
    ("openai", Wire::Completions),
    ("responses", Wire::Responses),
];

/// Our own cases; a folder without a body or an expectation fails.
pub(super) fn ours() -> (PathBuf, Index) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/wires");
    let mut recordings = Vec::new();
    for (name, wire) in WIRES {
        for case in std::fs::read_dir(folder.join(name)).expect(name) {
            let case = case.unwrap().path();
            let text = std::fs::read(case.join("expected.json")).expect("an expected.json");
            let expected: Expected = serde_json::from_slice(&text)
                .unwrap_or_else(|why| panic!("{}: {why}", case.display()));
            assert!(!expected.seen.about.is_empty(), "{}", case.display());
            let bodies: Vec<PathBuf> = std::fs::read_dir(&case)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.file_stem().is_some_and(|stem| stem == "body"))
                .collect();
            let [body] = bodies.as_slice() else {
                panic!("{}: {bodies:?}", case.display());
            };
            recordings.push(Recording {
                file: body.strip_prefix(&folder).unwrap().display().to_string(),
                status: expected.seen.status.unwrap_or(200),
                expected,
                wire: Some(wire),
            });
        }
    }
    (
        folder,
        Index {
            recordings,
            wire: String::new(),
        },
    )
}

impl Recording {
    pub(super) fn wire(&self) -> Wire {
        let by_name = match self.file.ends_with(".ndjson") {
            true => Wire::Ollama,
            false => Wire::Completions,
        };
        self.wire.unwrap_or(by_name)
    }

    /// Who is asked: whom the case names, else whom its folder is called after.
    pub(super) fn row(&self) -> &'static ProviderSpec {
        let folder = match self.wire {
            Some(Wire::Responses) => row("openai"),
            _ => self.file.split('/').next().and_then(row),
        };
        let named = self.expected.seen.provider.as_deref();
        named
            .map(|name| row(name).unwrap_or_else(|| panic!("no provider {name}")))
            .or(folder)
            .or(row("openai-compat"))
            .unwrap()
    }
}
