//! What several hooks say together.

use serde_json::{Map, Value};

use super::hook_set::HookOrigin;
use super::output::{HookDecision, HookOutput};

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Verdict {
    /// Whose hook objects.
    pub objector: HookOrigin,
    /// Whose hook tells the model something; the project's, where both do.
    pub teller: HookOrigin,
    /// The turn ends, for this reason.
    pub end: Option<String>,
    /// What was about to happen does not, for this reason.
    pub block: Option<String>,
    /// What becomes of the call, and why: deny before ask before allow.
    pub decision: Option<(HookDecision, String)>,
    /// The arguments of the first hook that has changed them.
    pub updated_input: Option<Map<String, Value>>,
    /// What the hooks tell the model.
    pub context: Option<String>,
}

impl Verdict {
    /// Takes the outputs in the order of their hooks.
    pub(crate) fn of(outputs: impl IntoIterator<Item = HookOutput>) -> Self {
        let mut verdict = Self::default();
        for output in outputs {
            verdict.add(output);
        }
        verdict
    }

    fn add(&mut self, output: HookOutput) {
        let objects = output.end.is_some() || output.block.is_some();
        if objects && self.end.is_none() && self.block.is_none() {
            self.objector = output.origin;
        }
        self.end = self.end.take().or(output.end);
        self.block = self.block.take().or(output.block);
        self.updated_input = self.updated_input.take().or(output.updated_input);
        if let Some(own) = output.decision
            && self
                .decision
                .as_ref()
                .is_none_or(|(so_far, _)| own.0 > *so_far)
        {
            if self.end.is_none() && self.block.is_none() {
                self.objector = output.origin;
            }
            self.decision = Some(own);
        }
        if let Some(more) = output.context {
            self.teller = self.teller.max(output.origin);
            self.context = Some(joined(self.context.take(), &more));
        }
    }

    /// What the hooks tell the model about something that happened anyway: why they object, and what they add.
    pub(crate) fn remarks(self) -> Option<String> {
        let origin = match self.block {
            Some(_) => self.objector.max(self.teller),
            None => self.teller,
        };
        let words = match (self.block, self.context) {
            (Some(block), context) => Some(match context {
                Some(context) => joined(Some(block), &context),
                None => block,
            }),
            (None, context) => context,
        };
        let words = words.filter(|words| !words.is_empty());
        words.map(|words| as_told(origin, &words))
    }
}

/// The words of hooks as a model is told them.
pub(crate) fn as_told(origin: HookOrigin, words: &str) -> String {
    format!("[A {} says: {words}]", origin.words())
}

/// Both texts, one below the other.
pub(super) fn joined(one: Option<String>, other: &str) -> String {
    match one.filter(|one| !one.is_empty()) {
        Some(one) => format!("{one}\n{other}"),
        None => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(decision: HookDecision, reason: &str) -> HookOutput {
        HookOutput {
            decision: Some((decision, reason.to_owned())),
            ..HookOutput::default()
        }
    }

    fn changes(to: &str) -> HookOutput {
        HookOutput {
            updated_input: Some(Map::from_iter([("to".to_owned(), Value::from(to))])),
            context: Some(to.to_owned()),
            ..HookOutput::default()
        }
    }

    #[test]
    fn deny_beats_ask_beats_allow_whatever_their_order() {
        use HookDecision::{Allow, Ask, Deny};
        for (all, first) in [
            (vec![Allow, Ask, Deny], (Deny, "2")),
            (vec![Deny, Ask, Deny], (Deny, "0")),
            (vec![Allow, Ask], (Ask, "1")),
            (vec![Allow, Allow], (Allow, "0")),
        ] {
            let outputs = all.iter().enumerate();
            let outputs = outputs.map(|(at, decision)| says(*decision, &at.to_string()));
            let verdict = Verdict::of(outputs);
            assert_eq!(verdict.decision, Some((first.0, first.1.to_owned())));
        }
        assert_eq!(Verdict::of([]).decision, None);
    }

    #[test]
    fn words_are_those_of_whoever_says_them() {
        use HookDecision::{Allow, Deny};
        use HookOrigin::{Project, User};
        let of = |origin, output: HookOutput| HookOutput { origin, ..output };
        let verdict = Verdict::of([
            of(User, says(Deny, "No.")),
            of(Project, says(Deny, "Not here.")),
            of(Project, changes("one")),
        ]);
        assert_eq!((verdict.objector, verdict.teller), (User, Project));
        assert_eq!(
            verdict.remarks().as_deref(),
            Some("[A hook of the project says: one]")
        );
        let verdict = Verdict::of([
            of(User, says(Allow, "")),
            of(Project, says(Deny, "")),
            of(User, changes("one")),
        ]);
        assert_eq!((verdict.objector, verdict.teller), (Project, User));
    }

    #[test]
    fn the_first_input_counts_and_every_context() {
        let verdict = Verdict::of([HookOutput::default(), changes("one"), changes("two")]);
        assert_eq!(verdict.updated_input.as_ref().unwrap()["to"], "one");
        assert_eq!(verdict.context.as_deref(), Some("one\ntwo"));
        let blocked = Verdict::of([
            HookOutput {
                block: Some("No.".to_owned()),
                ..HookOutput::default()
            },
            changes("one"),
        ]);
        let told = "[A hook of the user says: No.\none]";
        assert_eq!(blocked.remarks().as_deref(), Some(told));
    }
}
