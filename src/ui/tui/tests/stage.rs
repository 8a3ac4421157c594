//! A conversation without a session: its updates are given directly, at a fixed time.

use std::time::{Duration, Instant};

use crossbeam_channel::bounded;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Color;

use super::super::ask::{KeyTarget, QuestionPrompt};
use super::super::chat::Chat;
use super::super::frame_content::FrameContent;
use super::super::view::{self, DrawnFrame, RowLayout};
use crate::app::session::session_cost::SessionCost;
use crate::app::session::ui_update::{
    AnsweringModel, PendingQuestion, RunningCall, SessionStatus, TurnOutcome, UiUpdate,
};
use crate::base::cancel::Cancel;
use crate::chat::display::Display;
use crate::chat::event::{CallEnd, CallState, Event};
use crate::chat::message::ToolCall;
use crate::chat::reply_event::ReplyEvent;
use crate::chat::usage::Tokens;
use crate::store::sessions::record::Spent;
use crate::tools::engine::approval::ApprovalRequest;
use crate::tools::engine::registry::Registry;
use crate::ui::editor::Editor;
use crate::ui::snapshot;
use crate::ui::text::theme::{ColorMode, Theme};

const SIZES: [(u16, u16); 3] = [(80, 24), (40, 12), (200, 50)];

/// A model of Groq.
pub(in crate::ui::tui) fn answering(name: &str) -> Option<AnsweringModel> {
    Some(AnsweringModel {
        provider: "groq",
        name: name.to_owned(),
    })
}

/// A session with this model, after one exchange.
pub(in crate::ui::tui) fn status(model: &str) -> SessionStatus {
    SessionStatus {
        model: answering(model),
        profile: "main".to_owned(),
        messages: 2,
        cost: SessionCost {
            session: Spent {
                cost: 0.04,
                ..Spent::default()
            },
            run: None,
        },
        tokens: Tokens {
            input: 1_200,
            cached: 900,
            output: 34,
            ..Tokens::default()
        },
        context: Some(3),
        coding: false,
        shell: None,
        place: None,
        topics: 0,
        running: Vec::new(),
        voice: None,
    }
}

/// Everything that a frame shows.
pub(super) struct Stage {
    pub(super) chat: Chat,
    pub(super) editor: Editor,
    pub(super) open_question: Option<QuestionPrompt>,
    pub(super) help: Option<usize>,
    pub(super) status: SessionStatus,
    pub(super) flash: Option<&'static str>,
    pub(super) queue: Vec<String>,
    pub(super) tools: Registry,
    began: Instant,
}

impl Stage {
    pub(super) fn new() -> Self {
        Self {
            chat: Chat::default(),
            editor: Editor::new(),
            open_question: None,
            help: None,
            status: status("llama-3.3-70b-versatile"),
            flash: None,
            queue: Vec::new(),
            tools: Registry::default(),
            began: Instant::now(),
        }
    }

    pub(super) fn show(&mut self, show: &UiUpdate) {
        self.chat.show(show, "09:05", self.began, &self.tools);
    }

    pub(super) fn you(&mut self, text: &str) {
        self.show(&UiUpdate::UserMessage {
            text: text.to_owned(),
            time: "09:05".to_owned(),
            spoken: false,
        });
    }

    /// A whole answer, in small chunks as it streams.
    pub(super) fn marvin(&mut self, text: &str) {
        self.delta(text);
        self.show(&UiUpdate::AnswerEnd(TurnOutcome::Complete));
    }

    pub(super) fn delta(&mut self, text: &str) {
        let chars: Vec<char> = text.chars().collect();
        for part in chars.chunks(7) {
            let part = part.iter().collect();
            self.show(&UiUpdate::Event(Event::Delta(part)));
        }
    }

    pub(super) fn reply(&mut self, event: ReplyEvent) {
        self.show(&UiUpdate::Event(Event::Reply(event)));
    }

    pub(super) fn calls(&mut self, calls: &[(&str, &str, &str)]) {
        let ids: Vec<String> = calls.iter().map(|(id, ..)| (*id).to_owned()).collect();
        let calls = calls
            .iter()
            .map(|(id, name, args)| ToolCall::new(*id, *name, *args))
            .collect();
        self.show(&UiUpdate::Event(Event::ToolsStarted(calls)));
        for id in ids {
            let state = CallState::Running;
            self.show(&UiUpdate::Event(Event::CallState { id, state }));
        }
    }

    pub(super) fn done(&mut self, id: &str, end: CallEnd, text: &str) {
        self.done_showing(id, end, text, None);
    }

    pub(super) fn done_showing(
        &mut self,
        id: &str,
        end: CallEnd,
        text: &str,
        display: Option<Display>,
    ) {
        self.show(&UiUpdate::Event(Event::ToolDone {
            id: id.to_owned(),
            name: String::new(),
            failed: end == CallEnd::Failure,
            end,
            took: Duration::from_millis(412),
            answered_by: Vec::new(),
            text: text.to_owned(),
            images: Vec::new(),
            display,
        }));
    }

    pub(super) fn runs(&mut self, what: &str, background: bool) {
        self.status.running.push(RunningCall {
            name: what.to_owned(),
            since: self.began,
            background,
            output: String::new(),
        });
    }

    pub(super) fn ask(&mut self, command: &str, reason: &str) {
        let request = ApprovalRequest::new("Run this command?", "run this command", command);
        let question = PendingQuestion {
            request: request.in_dir(std::path::Path::new("/home/arthur/src/fetcher")),
            reply: bounded(1).0,
            over: Cancel::new(),
        };
        let mut open_question = QuestionPrompt::new(question, reason.to_owned());
        open_question.key_target = KeyTarget::Question;
        self.open_question = Some(open_question);
    }

    /// The frame at a size, thirteen seconds after the start.
    pub(super) fn draw(
        &mut self,
        (width, height): (u16, u16),
        mode: ColorMode,
    ) -> (Buffer, Position) {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        let drawn = self.draw_onto(&mut buffer, mode, &RowLayout::default());
        (buffer, drawn.cursor.expect("a cursor"))
    }

    /// Draws a frame that follows one with this layout.
    pub(super) fn draw_onto(
        &mut self,
        buffer: &mut Buffer,
        mode: ColorMode,
        before: &RowLayout,
    ) -> DrawnFrame {
        let theme = Theme::new(mode);
        let scene = FrameContent {
            chat: &mut self.chat,
            editor: &mut self.editor,
            open_question: self.open_question.as_mut(),
            help: self.help.as_mut(),
            overlay: None,
            status: &self.status,
            flash: self.flash,
            queue: &self.queue,
            clock: "09:05",
            theme: &theme,
            now: self.began + Duration::from_secs(13),
        };
        view::draw(scene, buffer, before)
    }

    /// Compares the frames of all sizes with their snapshots; what is open may differ in each.
    pub(super) fn assert_snapshot(&mut self, name: &str) {
        for size in SIZES {
            let (buffer, cursor) = self.draw(size, ColorMode::Ansi256);
            let name = format!("tui/{name}-{}x{}", size.0, size.1);
            let text = format!("{}\ncursor at {},{}", text(&buffer), cursor.x, cursor.y);
            snapshot::same(&name, &text);
        }
    }

    /// Compares the styles of the frame, not only its text.
    pub(super) fn assert_style_snapshot(&mut self, name: &str, mode: ColorMode) {
        let (buffer, _) = self.draw((80, 24), mode);
        snapshot::same(&format!("tui/{name}-looks"), &style_runs(&buffer));
    }
}

/// The rows of a small frame as text.
pub(super) fn small(stage: &mut Stage) -> String {
    text(&stage.draw((80, 24), ColorMode::None).0)
}

/// The rows of a frame without their blank ends.
pub(super) fn rows(stage: &mut Stage, size: (u16, u16), mode: ColorMode) -> Vec<String> {
    let (buffer, _) = stage.draw(size, mode);
    let symbols = |y| (0..size.0).map(move |x| (x, y));
    (0..size.1)
        .map(|y| {
            let row: String = symbols(y).map(|at| buffer[at].symbol()).collect();
            row.trim_end().to_owned()
        })
        .collect()
}

/// The rows as text, with a bar at each end to make blanks visible.
fn text(buffer: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        out.push('|');
        let mut x = 0;
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            out.push_str(symbol);
            let wide = crate::ui::text::width::of(symbol).max(1);
            x += u16::try_from(wide).unwrap();
        }
        out.push_str("|\n");
    }
    out
}

/// Runs of equal style: colours and modifiers, then the text.
fn style_runs(buffer: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut runs: Vec<(String, String)> = Vec::new();
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let colour = |name: &str, colour: Color| match colour {
                Color::Reset => String::new(),
                colour => format!("{name}{colour} "),
            };
            let modifiers = match cell.modifier.is_empty() {
                true => String::new(),
                false => format!("{:?}", cell.modifier),
            };
            let look = format!(
                "{}{}{modifiers}",
                colour("", cell.fg),
                colour("on ", cell.bg)
            );
            match runs.last_mut() {
                Some((last, words)) if *last == look => words.push_str(cell.symbol()),
                _ => runs.push((look, cell.symbol().to_owned())),
            }
        }
        out.push_str(&format!("row {y}\n"));
        for (look, words) in runs {
            if !words.trim().is_empty() {
                out.push_str(&format!("  [{}] {words}\n", look.trim_end()));
            }
        }
    }
    out
}
