//! What happens in a run of the pipeline, for whoever watches: a screen, lines on standard error, a file, a push message.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Something that happened in a run of the pipeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PipelineEvent {
    /// The run starts, or goes on after an interruption.
    RunStarted {
        /// The task, its first line.
        task: String,
        /// Id of the epic ticket.
        ticket: String,
        /// The model of each tier.
        tiers: Vec<TierChoice>,
        /// The phases in order, those that are done or not asked for included.
        phases: Vec<PhaseOutline>,
        /// It continues an earlier run.
        resumed: bool,
    },
    PhaseStarted {
        /// Its name, such as `1a_review`.
        phase: String,
    },
    /// A phase has nothing to do.
    PhaseSkipped {
        /// Its name.
        phase: String,
        /// Why, as a sentence.
        reason: String,
    },
    /// A round of reviews, of debugging or of another loop starts.
    RoundStarted {
        /// Name of the phase.
        phase: String,
        /// What it is about: a document, `code`, `tests`.
        subject: String,
        /// Counted from 1.
        round: u64,
        /// The most rounds there can be.
        most: u64,
    },
    /// A phase is done and recorded.
    PhaseDone {
        /// Its name.
        phase: String,
        /// How long it took.
        #[serde(rename = "seconds", with = "seconds")]
        took: Duration,
    },
    /// A child process starts.
    ChildStarted {
        /// Its id in this run: its label and when it was started.
        id: String,
        /// What it is for, such as `spec-writer`.
        label: String,
        /// The model that answers it.
        model: String,
        /// 1 for the first attempt.
        attempt: u64,
    },
    /// A child runs tools.
    ChildTools {
        /// Id of the child.
        id: String,
        /// Names of the tools of a round.
        tools: Vec<String>,
    },
    /// A child has made model calls.
    ChildUsage {
        /// Id of the child.
        id: String,
        /// Tokens so far, in and out.
        tokens: u64,
        /// US dollars so far.
        cost: f64,
        /// A part of the numbers is an estimate.
        estimated: bool,
    },
    /// The work is done in a worktree, not in the folder in which it was asked for.
    InWorktree {
        folder: String,
        /// Where that is, as a sentence.
        words: String,
    },
    ChildEnded {
        /// Id of the child.
        id: String,
        /// It did what it was for.
        done: bool,
        /// How it ended, as a sentence.
        words: String,
        /// How long it ran.
        #[serde(rename = "seconds", with = "seconds")]
        took: Duration,
    },
    /// The provider of a child cannot answer now; the child is started again after a pause.
    ProviderWait {
        /// The label of the child.
        label: String,
        /// The provider's name.
        provider: String,
        /// How long the pause is.
        milliseconds: u64,
    },
    /// The tests of the project were run, by the pipeline itself.
    TestsRun {
        /// At least one was executed, and none failed.
        passed: bool,
        /// How they ended, as a sentence with the counts.
        words: String,
    },
    /// A commit was made.
    Checkpoint {
        /// First line of its message.
        message: String,
    },
    /// Something went wrong, but the run continues.
    Warning {
        /// What, as a sentence.
        words: String,
    },
    /// The user decided something about the run, and this is what comes of it.
    Steered {
        /// What, as a sentence.
        words: String,
    },
    /// The run waits for the user, who is asked on the terminal.
    ApprovalAwaited {
        /// The phase whose work waits.
        phase: String,
        /// As a sentence.
        words: String,
    },
    /// The run stopped where the user wanted it to, and is not done.
    RunPaused {
        /// The last phase that is done.
        phase: String,
        /// Why, as a sentence.
        words: String,
        /// It waits for an approval.
        #[serde(default)]
        waits: bool,
    },
    RunEnded {
        /// Every phase that was asked for is done.
        done: bool,
        /// How it ended, as a sentence.
        words: String,
    },
}

/// A time as a number of seconds, to the millisecond: whole ones of many short children would add up to nothing.
pub(crate) mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes it.
    ///
    /// # Errors
    /// Those of the serializer.
    pub(crate) fn serialize<S: Serializer>(
        time: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64((time.as_secs_f64() * 1_000.0).round() / 1_000.0)
    }

    /// Reads it; what is no time counts as none.
    ///
    /// # Errors
    /// It is no number.
    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Ok(Duration::try_from_secs_f64(seconds).unwrap_or_default())
    }
}

/// A tier and the model that serves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierChoice {
    /// The tier's name.
    pub tier: String,
    /// The provider's name.
    pub provider: String,
    /// The model's name.
    pub model: String,
    /// Where the choice comes from, such as `--model` or a variable.
    pub source: String,
}

/// A phase as the outline of a run shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseOutline {
    /// Its name, such as `1a_review`.
    pub name: String,
    /// What it does, a few words.
    pub about: String,
    /// Recorded as done by an earlier run.
    pub done: bool,
    /// It will not run, because it was not asked for.
    pub omitted: bool,
}
