//! Plans the steps of a reply before the chat model sees the message.

use super::plan::Plan;
use crate::base::redact::scrub;
use crate::base::text::clip;
use crate::chat::message::Message;
use crate::reply::dialogue::carry_over::dialogue_lines;
use crate::reply::models::stage::{Stage, StageModel, StageRequest};
use crate::reply::prompts;
use crate::reply::settings::ReplySettings;
use crate::reply::tools::catalogue::Catalogue;
use crate::reply::trace::Trace;

/// Shorter messages need no plan.
const MIN_QUERY_CHARS: usize = 4;
const ABOUT_CHARS: usize = 120;

/// What a message is planned by.
#[derive(Clone, Copy)]
pub(crate) struct PlannerInput<'a> {
    /// The message without secrets, on one line.
    pub query: &'a str,
    /// The conversation before the message.
    pub history: &'a [Message],
    /// The tools that were picked for it.
    pub tools: &'a [String],
    pub catalogue: &'a Catalogue,
}

/// The plan for a message; without steps when there is none.
pub(crate) fn plan(
    input: &PlannerInput<'_>,
    model: &dyn StageModel,
    settings: &ReplySettings,
    trace: &Trace,
) -> Plan {
    if !settings.planner_enabled || input.query.chars().count() < MIN_QUERY_CHARS {
        return Plan::parse("");
    }
    let answer = model.ask(&StageRequest {
        stage: Stage::Planner,
        system: prompts::PLANNER.trim_end(),
        user: &user_message(input),
        limit: settings.planner_limit,
    });
    let answer = answer.unwrap_or_else(|problem| {
        trace.detail("planning", || format!("no plan: {}", scrub(&problem.what)));
        String::new()
    });
    let plan = Plan::parse(&answer);
    if let Some(line) = plan.trace() {
        trace.line(scrub(&line));
    }
    plan
}

fn user_message(input: &PlannerInput<'_>) -> String {
    let tools: Vec<String> = input
        .tools
        .iter()
        .map(|name| {
            format!(
                "- {name}: {}",
                clip(input.catalogue.about(name), ABOUT_CHARS)
            )
        })
        .collect();
    let tools = match tools.is_empty() {
        true => "There are no tools for this message.".to_owned(),
        false => tools.join("\n"),
    };
    let dialogue = dialogue_lines(input.history);
    let dialogue = match dialogue.is_empty() {
        true => "Nothing was said before.".to_owned(),
        false => dialogue.join("\n"),
    };
    format!(
        "TOOLS\n{tools}\n\nRECENT DIALOGUE\n{dialogue}\n\nMESSAGE\n{}\n\nWrite the plan now.",
        input.query
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use crate::chat::event::NullSink;
    use crate::reply::settings::TraceLevel;
    use crate::reply::testing::{Scripted, catalogue};
    use std::sync::Arc;

    fn trace() -> Trace {
        Trace::new(TraceLevel::Brief, Arc::new(NullSink))
    }

    #[test]
    fn a_failed_or_switched_off_planner_is_an_empty_plan() {
        let catalogue = catalogue(None);
        let input = |query| PlannerInput {
            query,
            history: &[],
            tools: &[],
            catalogue: &catalogue,
        };
        let model = Scripted::new(&[Some("read_note path='a.md'\nReply to the user."), None]);
        let on = ReplySettings::default();
        let off = ReplySettings {
            planner_enabled: false,
            ..ReplySettings::default()
        };
        let steps = |query, settings| {
            let plan = plan(&input(query), &model, settings, &trace());
            plan.steps().len()
        };
        assert_eq!([steps("hey", &on), steps("飲む?", &on)], [0, 0]);
        assert_eq!((steps("read it", &off), model.calls()), (0, 0));
        assert_eq!((steps("水を飲む", &on), model.calls()), (2, 1));
        assert_eq!((steps("read it", &on), model.calls()), (0, 2));
    }

    #[test]
    fn the_planner_sees_picked_tools_dialogue_and_message() {
        let catalogue = catalogue(None);
        let history = [
            Message::user("who made Salt Road?"),
            Message::assistant("Mira Okafor"),
        ];
        let tools = ["read_note".to_owned(), "web_search".to_owned()];
        let text = user_message(&PlannerInput {
            query: "and what else",
            history: &history,
            tools: &tools,
            catalogue: &catalogue,
        });
        assert_has(
            &text,
            &[
                "- read_note: ",
                "- web_search: ",
                "- assistant: Mira Okafor",
                "MESSAGE\nand what else\n",
            ],
        );
        let text = user_message(&PlannerInput {
            query: "x",
            history: &[],
            tools: &[],
            catalogue: &catalogue,
        });
        assert_has(&text, &["no tools", "Nothing was said"]);
    }
}
