//! The permission modes, as a table: what each does with reads, with changes to files, and with programs and everything outside.

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::tools::engine::rules::SideEffect;

/// How calls are judged that no rule decides. The order is that of strictness: a later one never runs what an earlier one does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PermissionMode {
    /// Everything runs.
    Bypass,
    /// Programs and what acts outside are asked about.
    AcceptEdits,
    /// Everything that changes something is asked about.
    Default,
    /// Nobody is asked: what would be asked about is refused.
    DontAsk,
    /// The model looks and plans, and changes nothing.
    Plan,
}

/// What a mode does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Run,
    Ask,
    Refuse,
}

/// What a call does, as far as modes distinguish it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallKind {
    /// It changes nothing, or only Marvin's own working state: also a look-up on the web.
    Read,
    /// It changes files or records of the user.
    Files,
    /// It runs programs or acts outside.
    Outside,
}

impl CallKind {
    /// The kind of a tool's calls, by the effect that its row declares.
    pub(crate) const fn of(effect: SideEffect) -> Self {
        match effect {
            SideEffect::None | SideEffect::Memory => Self::Read,
            SideEffect::Notes
            | SideEffect::Records
            | SideEffect::ProjectFiles
            | SideEffect::UserFiles => Self::Files,
            SideEffect::Programs | SideEffect::Outside => Self::Outside,
        }
    }

    /// What such a call does, for a sentence with "it".
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Files => "changes files",
            Self::Outside => "runs programs or acts outside",
        }
    }
}

pub(crate) struct ModeRow {
    pub mode: PermissionMode,
    /// The word that chooses it.
    pub word: &'static str,
    reads: Verdict,
    files: Verdict,
    outside: Verdict,
    /// What it does, for the help.
    pub doc: &'static str,
}

/// The modes, each stricter than the one before.
pub(crate) const MODES: [ModeRow; 5] = {
    use PermissionMode::{AcceptEdits, Bypass, Default, DontAsk, Plan};
    use Verdict::{Ask, Refuse, Run};
    [
        row(
            Bypass,
            "bypassPermissions",
            [Run, Run, Run],
            "everything runs",
        ),
        row(
            AcceptEdits,
            "acceptEdits",
            [Run, Run, Ask],
            "reads and changes to files run, programs and what acts outside are asked about",
        ),
        row(
            Default,
            "default",
            [Run, Ask, Ask],
            "reads run, everything else is asked about",
        ),
        row(
            DontAsk,
            "dontAsk",
            [Run, Refuse, Refuse],
            "reads run, everything else is refused unless a rule allows it",
        ),
        row(
            Plan,
            "plan",
            [Run, Refuse, Refuse],
            "as dontAsk, and the model is told to plan",
        ),
    ]
};

const fn row(
    mode: PermissionMode,
    word: &'static str,
    [reads, files, outside]: [Verdict; 3],
    doc: &'static str,
) -> ModeRow {
    ModeRow {
        mode,
        word,
        reads,
        files,
        outside,
        doc,
    }
}

impl PermissionMode {
    fn row(self) -> &'static ModeRow {
        let [first, ..] = &MODES;
        MODES.iter().find(|row| row.mode == self).unwrap_or(first)
    }

    /// The word that chooses it.
    pub(crate) fn word(self) -> &'static str {
        self.row().word
    }

    /// What it does with a call of this kind.
    pub(crate) fn verdict(self, kind: CallKind) -> Verdict {
        let row = self.row();
        match kind {
            CallKind::Read => row.reads,
            CallKind::Files => row.files,
            CallKind::Outside => row.outside,
        }
    }

    /// Reads the word of a mode.
    ///
    /// # Errors
    /// There is none of that name, or it is `auto`.
    pub(crate) fn parse(word: &str) -> Outcome<Self> {
        let word = word.trim();
        let words = || MODES.iter().map(|row| row.word);
        let modes = || format!("Modes: {}.", words().collect::<Vec<_>>().join(", "));
        if let Some(row) = MODES.iter().find(|row| row.word == word) {
            return Ok(row.mode);
        }
        if word == "auto" {
            return Err(Problem::input(
                "The permission mode \"auto\", in which a model judges each call, is not built.",
            )
            .next(modes()));
        }
        let shown = clip(&escape_controls(word), 60);
        Err(
            Problem::input(format!("There is no permission mode \"{shown}\"."))
                .near(word, words())
                .next(modes()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use crate::tools::all;

    #[test]
    fn the_table_is_in_the_order_of_strictness() {
        let rank = |verdict| match verdict {
            Verdict::Run => 0,
            Verdict::Ask => 1,
            Verdict::Refuse => 2,
        };
        for pair in MODES.windows(2) {
            assert!(pair[0].mode < pair[1].mode);
            for kind in [CallKind::Read, CallKind::Files, CallKind::Outside] {
                let [one, other] = [&pair[0], &pair[1]].map(|row| rank(row.mode.verdict(kind)));
                assert!(one <= other, "{} {kind:?}", pair[1].word);
            }
        }
        for row in &MODES {
            assert_eq!(row.mode.row().word, row.word);
        }
    }

    #[test]
    fn what_a_tool_declares_decides_in_every_mode() {
        let runs = |mode: PermissionMode| -> Vec<&str> {
            let runs =
                all().filter(|tool| mode.verdict(CallKind::of(tool.rules.effect)) == Verdict::Run);
            runs.map(|tool| tool.name).collect()
        };
        let everything: Vec<&str> = all().map(|tool| tool.name).collect();
        assert_eq!(runs(PermissionMode::Bypass), everything);
        for (name, modes) in [
            (
                "read_file",
                "bypassPermissions acceptEdits default dontAsk plan",
            ),
            (
                "create_ticket",
                "bypassPermissions acceptEdits default dontAsk plan",
            ),
            // What looks something up on the web changes nothing there.
            (
                "web_search",
                "bypassPermissions acceptEdits default dontAsk plan",
            ),
            ("create_file", "bypassPermissions acceptEdits"),
            ("write_note", "bypassPermissions acceptEdits"),
            ("run_command", "bypassPermissions"),
            ("git_commit", "bypassPermissions"),
            ("ntfy_publish", "bypassPermissions"),
            ("launch_agent", "bypassPermissions"),
        ] {
            let in_modes = MODES.iter().filter(|row| runs(row.mode).contains(&name));
            let in_modes: Vec<&str> = in_modes.map(|row| row.word).collect();
            assert_eq!(in_modes.join(" "), modes, "{name}");
        }
    }

    #[test]
    fn a_mode_is_read_by_its_word_and_a_wrong_one_gets_the_nearest() {
        for row in &MODES {
            assert_eq!(PermissionMode::parse(row.word).unwrap(), row.mode);
        }
        let words = |word: &str| PermissionMode::parse(word).unwrap_err().one_line();
        assert_has(&words("dontask"), &["Did you mean \"dontAsk\"?"]);
        assert!(words("accept-edits").contains("acceptEdits"));
        assert!(words("auto").contains("not built"));
        assert!(words("").contains("Modes: bypassPermissions, acceptEdits"));
    }
}
