//! What the status of a whole command says of one of its simple commands.

use crate::tools::engine::permission::command::simple_command::{Mark, SimpleCommand};
use crate::tools::engine::permission::command::split::WrittenScript;

/// What is known of how a simple command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standing {
    /// The status of the whole is its own, whatever it is.
    pub is_shown: bool,
    /// The whole succeeds only where it does.
    pub is_needed: bool,
}

impl Standing {
    /// What is known of the whole.
    pub(super) const WHOLE: Self = Self {
        is_shown: true,
        is_needed: true,
    };
    const HIDDEN: Self = Self {
        is_shown: false,
        is_needed: false,
    };

    /// What is known of the command at `at` of a script of which `self` is known.
    pub(super) fn of(self, script: &WrittenScript, at: usize) -> Self {
        let marks = |commands: &[SimpleCommand]| -> Vec<Mark> {
            let marks = commands.iter().map(|command| command.mark);
            marks.filter(|mark| *mark != Mark::Inside).collect()
        };
        let (before, from) = script.commands.split_at(at.min(script.commands.len()));
        let is_inside = from.first().is_none_or(|own| own.mark == Mark::Inside);
        let (before, from) = (marks(before), marks(from));
        let Some((Mark::End | Mark::Next, joints)) = from.split_last() else {
            return Self::HIDDEN;
        };
        if is_inside || !script.is_plain {
            return Self::HIDDEN;
        }
        let list = || {
            let is_joint = |mark: &&Mark| matches!(mark, Mark::And | Mark::Or | Mark::Pipe);
            before.iter().rev().take_while(is_joint)
        };
        let passes_on = |(place, mark): (usize, &Mark)| match mark {
            Mark::And => true,
            Mark::Pipe => place > 0,
            _ => false,
        };
        Self {
            is_shown: self.is_shown && joints.is_empty() && list().all(|mark| *mark == Mark::Pipe),
            is_needed: self.is_needed
                && list().all(|mark| *mark != Mark::Or)
                && joints.iter().enumerate().all(passes_on),
        }
    }

    /// The same behind a program whose own status says nothing of what it starts.
    pub(super) fn hidden_if(self, is_hidden: bool) -> Self {
        match is_hidden {
            true => Self::HIDDEN,
            false => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::engine::permission::command::split;

    #[test]
    fn a_status_says_as_much_of_a_command_as_the_shell_lets_through() {
        // `x` is the command; both hold, only the second, or none.
        for (is_shown, is_needed, texts) in [
            (
                true,
                true,
                &[
                    "x",
                    "x;",
                    "a; x",
                    "a & x\n",
                    "a | x",
                    "a\nx >/dev/null 2>&1",
                    "(a; x)",
                    "b $(a || c); x \"$(a | b)\"",
                ][..],
            ),
            (
                false,
                true,
                &[
                    "x && a",
                    "a && x",
                    "a; x && b | c",
                    "(cd a && x)",
                    "x && echo $(a; b) `c; d` && e",
                ][..],
            ),
            (
                false,
                false,
                &[
                    "x; a",
                    "x\na",
                    "x & a",
                    "x &",
                    "x | a",
                    "x || a",
                    "a || x",
                    "x && a || b",
                    "x && a; b",
                    "a $(x)",
                    "a `x`",
                    "! x",
                    "if x; then a; fi",
                    "for i in 1; do x; done",
                    "(x; a)",
                    "(x) | a",
                    "a <(x)",
                ][..],
            ),
        ] {
            for text in texts {
                let script = split::written(text);
                let is_own = |command: &SimpleCommand| command.words[0].text == "x";
                let at = script.commands.iter().position(is_own).unwrap();
                let found = Standing::WHOLE.of(&script, at);
                assert_eq!(
                    (found.is_shown, found.is_needed),
                    (is_shown, is_needed),
                    "{text}"
                );
            }
        }
    }
}
