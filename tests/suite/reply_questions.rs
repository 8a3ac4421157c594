//! The questions and conversations by which models and ways to choose tools are measured.

use std::collections::HashSet;

use marvin::testing::tools::find_tool;

use crate::support::questions::{conversations, questions};

const LANGUAGES: [&str; 8] = ["en", "de", "fr", "es", "pl", "ru", "ja", "zh"];

#[test]
fn there_are_300_questions_in_eight_languages_about_known_tools() {
    let questions = questions();
    assert_eq!(questions.len(), 300);
    let different: HashSet<&str> = questions.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(different.len(), questions.len());
    for language in LANGUAGES {
        let of_it = questions.iter().filter(|one| one.language == language);
        assert!(of_it.count() >= 37, "{language}");
    }
    for question in &questions {
        let known = |name: &String| find_tool(name).is_some();
        assert!(!question.tools.is_empty(), "{}", question.text);
        assert!(question.tools.iter().all(known), "{}", question.text);
    }
}

#[test]
fn there_are_60_conversations_of_two_to_four_messages() {
    let conversations = conversations();
    assert_eq!(conversations.len(), 60);
    for conversation in &conversations {
        let first = &conversation.turns[0].say;
        assert!(
            LANGUAGES.contains(&conversation.language.as_str()),
            "{first}"
        );
        assert!((2..=4).contains(&conversation.turns.len()), "{first}");
        for turn in &conversation.turns {
            let mut tools = turn.tools.iter().flatten();
            assert!(tools.all(|name| find_tool(name).is_some()), "{}", turn.say);
        }
    }
}
