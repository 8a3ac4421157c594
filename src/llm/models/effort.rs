//! Reasoning efforts, and which of them a model takes.

use super::names::{bare_name, rest};

/// How hard a model may be told to think, from the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ReasoningEffort {
    None,
    /// As little as it can.
    Minimal,
    /// A quick answer.
    Low,
    /// What most models do by themselves.
    Medium,
    /// Work on code.
    High,
    /// More than high.
    XHigh,
    /// As much as it can.
    Max,
}

impl ReasoningEffort {
    /// Each of them, in order.
    pub(crate) const ALL: [Self; 7] = [
        Self::None,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::XHigh,
        Self::Max,
    ];

    /// The word that providers use.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }

    pub(crate) fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effort| effort.word() == word)
    }
}

/// How a model is told how hard to think.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum EffortControl {
    /// By a word. The model thinks by itself, and a word changes how hard.
    #[default]
    Word,
    /// By a number of tokens that its thoughts may take. Without one it does not think.
    Budget,
    /// It can only be told to think, or not to.
    Switch,
}

/// The efforts that a model takes. Any other is refused with 400, so none is sent to a model that takes none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Efforts {
    words: u8,
    control: EffortControl,
}

impl Efforts {
    /// Those that `list` holds.
    pub(crate) fn of(list: &[ReasoningEffort]) -> Self {
        Self {
            words: list
                .iter()
                .fold(0, |bits, effort| bits | 1 << *effort as u8),
            control: EffortControl::Word,
        }
    }

    /// Low, medium and high.
    pub(crate) fn usual() -> Self {
        Self::of(&[
            ReasoningEffort::Low,
            ReasoningEffort::Medium,
            ReasoningEffort::High,
        ])
    }

    /// Those of a model that is given a number of tokens for its thoughts.
    pub(crate) fn budget() -> Self {
        Self {
            control: EffortControl::Budget,
            ..Self::of(&[
                ReasoningEffort::None,
                ReasoningEffort::Low,
                ReasoningEffort::Medium,
                ReasoningEffort::High,
            ])
        }
    }

    /// Those of a model that can only think or not.
    pub(crate) fn switch() -> Self {
        Self {
            control: EffortControl::Switch,
            ..Self::of(&[ReasoningEffort::None, ReasoningEffort::High])
        }
    }

    /// How the model is told.
    pub(crate) fn control(self) -> EffortControl {
        self.control
    }

    /// True when it takes none.
    pub(crate) fn is_empty(self) -> bool {
        self.words == 0
    }

    /// True when `effort` may be sent.
    pub(crate) fn takes(self, effort: ReasoningEffort) -> bool {
        self.words & 1 << effort as u8 != 0
    }

    /// The one nearest to `wanted`; of two as near, the lower, which costs less. `None` when the model takes none.
    pub(crate) fn nearest(self, wanted: ReasoningEffort) -> Option<ReasoningEffort> {
        ReasoningEffort::ALL
            .into_iter()
            .filter(|effort| self.takes(*effort))
            .min_by_key(|effort| (*effort as u8).abs_diff(wanted as u8))
    }

    /// Those of `wanted` that make a difference: of several that come out the same, the one that the model has itself, else the lowest.
    pub(crate) fn distinct(self, wanted: &[ReasoningEffort]) -> Vec<ReasoningEffort> {
        let mut found: Vec<(ReasoningEffort, ReasoningEffort)> = Vec::new();
        for effort in wanted {
            let Some(told) = self.nearest(*effort) else {
                continue;
            };
            match found.last_mut().filter(|(_, before)| *before == told) {
                Some(same) if told == *effort => *same = (*effort, told),
                Some(_) => {}
                None => found.push((*effort, told)),
            }
        }
        found.into_iter().map(|(effort, _)| effort).collect()
    }

    /// Reads `low,medium,high`, `budget` or `switch`; `yes` and `-` are none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "yes" | "-" => Some(Self::default()),
            "budget" => Some(Self::budget()),
            "switch" => Some(Self::switch()),
            _ => {
                let list: Option<Vec<_>> = text.split(',').map(ReasoningEffort::of).collect();
                Some(Self::of(&list?))
            }
        }
    }
}

/// The efforts of a model on this machine: gpt-oss has them wherever it runs (<https://docs.ollama.com/capabilities/thinking>).
pub(super) fn of_local(model: &str) -> Efforts {
    if rest(&bare_name(model), "gpt-oss").is_some() {
        Efforts::usual()
    } else {
        Efforts::default()
    }
}

/// Whether a model of OpenAI that is not in the table thinks: all do since GPT-5, but for those made to chat.
pub(super) fn thinks_by_name(model: &str) -> bool {
    let name = bare_name(model);
    let number =
        |series: &str| rest(&name, series).and_then(|rest| rest.chars().next()?.to_digit(10));
    (number("gpt-").is_some_and(|major| major >= 5) || number("o").is_some())
        && !name.contains("chat")
}

#[cfg(test)]
mod tests {
    use super::ReasoningEffort::{High, Low, Max, Medium, Minimal, None as Off, XHigh};
    use super::*;

    #[test]
    fn efforts_that_come_out_the_same_are_one() {
        let choices = |text: &str| Efforts::parse(text).unwrap().distinct(&[Low, Medium, High]);
        for (list, wanted) in [
            ("none,low,medium,high,xhigh,max", &[Low, Medium, High][..]),
            ("medium,high,xhigh", &[Medium, High]),
            ("high", &[High]),
            ("budget", &[Low, Medium, High]),
            ("switch", &[Low, High]),
            ("-", &[]),
        ] {
            assert_eq!(choices(list), wanted, "{list}");
        }
    }

    #[test]
    fn the_nearest_effort_is_taken_and_the_lower_of_two() {
        for (list, low, medium, high) in [
            ("none,low,medium,high,xhigh,max", Low, Medium, High),
            ("minimal,low,medium,high", Low, Medium, High),
            ("medium,high,xhigh", Medium, Medium, High),
            ("high", High, High, High),
            ("low,high,max", Low, Low, High),
            ("none,high", Off, High, High),
            ("xhigh,max", XHigh, XHigh, XHigh),
        ] {
            let efforts = Efforts::parse(list).unwrap();
            assert_eq!(
                [Low, Medium, High].map(|wanted| efforts.nearest(wanted)),
                [Some(low), Some(medium), Some(high)],
                "{list}"
            );
        }
        assert_eq!(Efforts::parse("yes").unwrap().nearest(High), None);
        assert_eq!(Efforts::parse("-").unwrap().nearest(Minimal), None);
        assert_eq!(Efforts::parse("low,hihg"), None);
        let switch = Efforts::parse("switch").unwrap();
        assert_eq!(
            [Low, Medium, High].map(|wanted| switch.nearest(wanted)),
            [Some(Off), Some(High), Some(High)]
        );
        let budget = Efforts::parse("budget").unwrap();
        assert_eq!(budget.nearest(Medium), Some(Medium));
        assert_eq!(
            [switch, budget].map(Efforts::control),
            [EffortControl::Switch, EffortControl::Budget]
        );
        assert_eq!(ReasoningEffort::of("max"), Some(Max));
    }

    #[test]
    fn efforts_are_for_models_that_think() {
        let all = [
            "gpt-5.1",
            "gpt-6.1-terra",
            "gpt-5.3-codex",
            "o4-mini",
            "grok-4.7",
            "gpt-7-sol",
            "gpt-5-chat-latest",
            "gpt-4o",
            "o1-mini",
            "olmo",
            "claude-haiku-4-5",
        ];
        let (takes, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|model| {
            let info = crate::llm::models::ModelRegistry::default().facts("", model);
            info.efforts.takes(High)
        });
        assert_eq!(
            (takes.len(), others.first()),
            (7, Some(&"gpt-5-chat-latest"))
        );
    }

    #[test]
    fn a_new_model_of_openai_is_taken_for_one_that_thinks() {
        for (model, thinks) in [
            ("gpt-7-sol", true),
            ("gpt-6.2", true),
            ("o5-mini", true),
            ("gpt-4-turbo", false),
            ("gpt-7-chat-latest", false),
            ("gpt-image-3", false),
            ("omni-x", false),
        ] {
            assert_eq!(thinks_by_name(model), thinks, "{model}");
        }
    }
}
