//! Module `stack`: questions and answers of Stack Exchange.

mod answers;
mod api;
mod body;
mod pauses;
mod questions;

use crate::base::params::choice;
use crate::net::services::{STACKEXCHANGE, Service};
use crate::tools::READ;
use crate::tools::engine::tool::tools;
use answers::answers;
use questions::search;

const ASKED: &[&Service] = &[&STACKEXCHANGE];

tools! { "stack";
    /// Search Stack Exchange questions.
    stack_search(StackSearch; READ.seconds(10).service("stackexchange").asks(ASKED)) {
        /// text
        query: String, example: "reverse a list";
        /// site
        site: Site = "stackoverflow";
        /// tags separated by semicolons
        tagged: Option<String>;
        /// order
        sort: QuestionOrder = "relevance";
        /// how many
        max_results: u32 = 5, min: 1, max: 10, alias: &["limit"];
    } => search, says [
        "search stack overflow for {query}", "stack overflow {query}", "ask ubuntu {query} {site=askubuntu}",
        "super user {query} {site=superuser}", "server fault {query} {site=serverfault}"
    ];

    /// Top answers of a question.
    stack_answers(StackAnswers; READ.seconds(10).service("stackexchange").asks(ASKED)) {
        /// id
        question_id: i64, example: "11227809";
        /// site
        site: Site = "stackoverflow";
    } => answers, says ["answers to stack overflow question {question_id}", "stack answers {question_id}"];
}

choice! {
    /// A site, by its name in the API.
    pub(crate) enum Site {
        /// Stack Overflow.
        StackOverflow = "stackoverflow",
        /// Server Fault.
        ServerFault = "serverfault",
        /// Super User.
        SuperUser = "superuser",
        /// Ask Ubuntu.
        AskUbuntu = "askubuntu",
        /// Unix & Linux.
        Unix = "unix",
        /// Mathematics.
        Math = "math",
        /// Physics.
        Physics = "physics",
        /// Arqade.
        Gaming = "gaming",
    }
}

choice! {
    /// The order of results.
    pub(crate) enum QuestionOrder {
        /// What fits best.
        Relevance = "relevance",
        /// The highest score.
        Votes = "votes",
        /// The newest.
        Creation = "creation",
        /// What was active last.
        Activity = "activity",
    }
}

impl Site {
    /// The name that people use.
    fn name(self) -> &'static str {
        match self {
            Self::StackOverflow => "Stack Overflow",
            Self::ServerFault => "Server Fault",
            Self::SuperUser => "Super User",
            Self::AskUbuntu => "Ask Ubuntu",
            Self::Unix => "Unix & Linux",
            Self::Math => "Mathematics",
            Self::Physics => "Physics",
            Self::Gaming => "Arqade",
        }
    }
}
