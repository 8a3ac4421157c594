//! The internals that tests, benchmarks and fuzz targets may use. Not a stable API.

#![allow(missing_docs, reason = "documented where it is declared")]

pub use crate::base::cancel::Cancel;
pub use crate::base::clock::Clock;
pub use crate::base::env::Env;
pub use crate::base::problem::{Problem, ProblemKind};
pub use crate::base::zones::ZoneFiles;
pub use crate::chat::event::NullSink;
pub use crate::chat::message::ToolCall;
pub use crate::disk::paths::Paths;

pub mod address {
    pub use crate::formats::address::{Address, decoded};
}

pub mod alerts {
    pub use crate::alerts::ntfy_inbox::NtfyInbox;
    pub use crate::alerts::timer::Timer;
    pub use crate::alerts::{Alerts, watch};
}

pub mod arguments {
    pub use crate::tools::engine::arguments::{ParsedArguments, for_history, parse_arguments};
}

pub mod calendar {
    pub use crate::formats::ical::event::CalendarEvent;
    pub use crate::formats::ical::expand::{ExpansionBudget, occurrences};
    pub use crate::formats::ical::line::{ContentLines, unfold};
    pub use crate::formats::ical::rule::RecurrenceRule;
    pub use crate::formats::ical::scan::{scan, with_event, without};
    pub use crate::formats::ical::text::escape;
    pub use crate::formats::ical::zones::Zones;
    pub use crate::store::calendar::occurrence::{Occurrence, between};
    pub use crate::tools::personal::calendar::new::{EventTime, NewEvent};
}

pub mod charset {
    pub use crate::formats::charset::decoded;
}

pub mod chat_log {
    pub use crate::store::chat_log::{ChatLog, LogRole};
}

pub mod copilot {
    pub use crate::llm::copilot::testing::read_all;
}

pub mod extensions {
    use crate::formats::skill_file::SkillFile;
    use crate::tools::engine::hooks::file;

    /// How many hooks a hooks file has.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn hooks_file(text: &str) -> Result<usize, String> {
        let hooks = file::parse(text);
        hooks
            .map(|hooks| hooks.len())
            .map_err(|problem| problem.one_line())
    }

    /// The hooks file of another program's settings, if it has hooks.
    pub fn imported_hooks(text: &str) -> Option<String> {
        let (hooks, _) = file::import(text).ok()?;
        Some(hooks.to_string())
    }

    /// The description of a skill, and where its instructions begin.
    pub fn skill_file(text: &str) -> (String, usize) {
        let skill = SkillFile::parse(text);
        (skill.description, skill.body)
    }
}

pub mod feed {
    pub use crate::formats::feed::{Feed, NoFeed, read};
}

pub mod front_matter {
    pub use crate::formats::front_matter::{FrontMatter, NewTicket, lines, with_note};
}

pub mod html {
    pub use crate::formats::html::{
        HtmlPage, Selector, entities, ids, line, page, page_part, text, title,
    };
}

pub mod image {
    pub use crate::formats::image::{ImageError, ImageHeader, ImageKind};
}

pub mod json_object {
    pub use crate::formats::json_object::{ObjectError, ObjectReader};
}

pub mod json_rpc {
    use crate::formats::json_rpc::Incoming;

    /// The line that a peer would write which answers with what it was given.
    pub fn echo(line: &[u8]) -> String {
        match Incoming::read(line) {
            Err(misread) => Incoming::answer(&misread.id, &Err(misread.error)),
            Ok(Incoming::Request { id, method, params }) => match id.as_u64() {
                Some(id) => Incoming::request(id, &method, &params),
                None => Incoming::answer(&id, &Ok(params)),
            },
            Ok(Incoming::Notification { method, params }) => {
                Incoming::notification(&method, &params)
            }
            Ok(Incoming::Answer { id, result }) => Incoming::answer(&id, &result),
        }
    }

    /// Whether a line is a message.
    pub fn is_message(line: &[u8]) -> bool {
        Incoming::read(line).is_ok()
    }
}

pub mod caller_lines {
    pub use crate::formats::json_lines::{NextLine, next_line, object};
}

pub mod json_schema {
    pub use crate::formats::json_schema::check::Misfit;
    pub use crate::formats::json_schema::schema::Schema;
}

pub mod llm {
    pub use crate::llm::catalog::{ProviderSpec, row};
    pub use crate::llm::models::list::{ListPage, ListedModel, parse_list};
    pub use crate::llm::provider::Delta;
    pub use crate::llm::reply::Reply;
    pub use crate::llm::wire::{Dialect, ErrorContext};
}

pub mod markdown {
    pub use crate::ui::markdown::layout::{lay_out, lay_out_all, lay_out_open};
    pub use crate::ui::markdown::split::BlockSplitter;
}

pub mod patch {
    pub use crate::formats::patch::{
        Section, apply_commands, apply_hunks, explain_unified_diff, is_commands, is_hunks,
        new_text, parse, replace_once, unwrap_patch_text,
    };
}

pub mod redact {
    pub use crate::base::redact::{ConversationLabels, logged, redact, scrub};
}

pub mod reply {
    pub use crate::reply::answer::clean::printed;
    pub use crate::reply::answer::guard::is_malformed;
    pub use crate::reply::answer::written_calls::read;

    /// What is on the screen at last while `text` arrives in pieces of so many characters.
    pub fn drafted(text: &str, size: usize) -> String {
        use crate::formats::model_text::draft::{DraftChange, DraftFilter};
        let mut filter = DraftFilter::new(vec!["web_search".to_owned()], Vec::new());
        let chars: Vec<char> = text.chars().collect();
        let mut screen = String::new();
        for piece in chars.chunks(size.max(1)) {
            for change in filter.feed(&piece.iter().collect::<String>()) {
                match change {
                    DraftChange::Show(piece) => screen.push_str(&piece),
                    DraftChange::Drop => screen.clear(),
                }
            }
        }
        screen
    }
    pub use crate::reply::preparation::plan::Plan;
    pub use crate::reply::tools::aliases::KnownTools;
    pub use crate::reply::tools::call::WrittenCall;
}

pub mod services {
    pub use crate::net::service::{ServiceClient, ServiceResponse};
    pub use crate::net::services::{SERVICES, service, variable};
}

pub mod sessions {
    pub use crate::store::sessions::{Replay, SessionId, SessionStore, SessionSummary};
}

pub mod sse {
    pub use crate::formats::sse::{SseEvents, SseItem};
}

pub mod terminal {
    pub use crate::ui::term::guard::TerminalGuard;
    pub use crate::ui::term::keys::{Parser, UnmarkedPastes};
    pub use crate::ui::term::modes::TerminalModes;
    pub use crate::ui::term::{Input, Rgb, SignalEvent};
}

pub mod wav {
    pub use crate::formats::wav::{SampleFormat, Wav, WavError};
}

pub mod text {
    pub use crate::ui::text::clean::Cleaner;
    pub use crate::ui::text::theme::{ColorMode, Theme};
}

pub mod tokens {
    pub use crate::chat::tokens::o200k;
}

pub mod tools {
    pub use crate::tools::all;
    pub use crate::tools::engine::batch::run_one;
    pub use crate::tools::engine::context::{SessionContext, ToolContext};
    pub use crate::tools::engine::policy::ToolPolicy;
    pub use crate::tools::find_tool;

    use std::sync::Arc;

    use serde_json::value::RawValue;

    use crate::base::env::Env;
    use crate::tools::engine::offering::{Recipient, offer};
    use crate::tools::engine::owned_tool::OwnedTool;
    use crate::tools::engine::result::ToolOk;
    use crate::tools::engine::rules::OUTSIDE;

    /// A session whose model searches among ours and these tools of a server: name, summary and schema of each.
    pub fn session_that_searches(
        tools: impl IntoIterator<Item = (String, String, String)>,
    ) -> Arc<SessionContext> {
        let session = SessionContext::new(Env::default(), ToolPolicy::default());
        for (name, summary, schema) in tools {
            let tool = OwnedTool {
                name,
                module: "server".to_owned(),
                summary,
                schema: RawValue::from_string(schema).unwrap_or_default(),
                rules: OUTSIDE,
                phrases: Arc::new([]),
                run: Box::new(|_, _| Ok(ToolOk::default())),
            };
            // One of a wrong name is missing, and found by nobody.
            let _refused = session.registry().register(tool);
        }
        let recipient = Recipient {
            max_tools: 128,
            is_model: true,
            keeps_tools: false,
        };
        offer(&session, recipient, &mut |_| {});
        Arc::new(session)
    }
}

pub mod web_results {
    pub use crate::tools::web::browsing::results::read;
}

pub mod width {
    pub use crate::ui::text::width::of_spans;
}

pub mod www_authenticate {
    pub use crate::formats::www_authenticate::Challenge;
}

pub mod yaml {
    pub use crate::disk::yaml::parse;
}
