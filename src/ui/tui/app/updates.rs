//! What the session tells: into the conversation, the input, and what covers them.

use std::time::Instant;

use super::{App, HostAction};
use crate::app::session::ui_update::{TurnOutcome, UiUpdate};
use crate::base::text::tail;
use crate::chat::event::Event;
use crate::ui::notify::Occasion;
use crate::ui::tui::ask;
use crate::ui::tui::line_prompt::LineInput;
use crate::ui::tui::overlay::Overlay;
use crate::ui::tui::part::Tone;
use crate::ui::tui::picker::Picker;

/// Maximum bytes of the model's text that are kept as the reason for a question.
const MAX_REASON_BYTES: usize = 2_000;

impl App {
    /// Processes the updates of the session. True when there were any.
    pub(in crate::ui::tui) fn receive(&mut self) -> bool {
        self.session.receive();
        let shows = self.session.take_updates();
        let any = !shows.is_empty();
        let call = self.occasion(&shows);
        for show in shows {
            self.show(show);
        }
        self.host_actions.extend(call.map(HostAction::Call));
        any
    }

    /// Whether these updates are worth a call: a question, or an answer after which no other one begins at once.
    fn occasion(&mut self, shows: &[UiUpdate]) -> Option<Occasion> {
        let mut occasion = None;
        for show in shows {
            match show {
                UiUpdate::UserMessage { .. } => {
                    self.attention.begin();
                    occasion = None;
                }
                UiUpdate::Ask(_) => occasion = Some(Occasion::Question),
                UiUpdate::AnswerEnd(TurnOutcome::Complete | TurnOutcome::Failed) => {
                    occasion = Some(Occasion::Answer);
                }
                _ => {}
            }
        }
        occasion.filter(|_| self.attention.calls())
    }

    pub(super) fn toggle_thinking(&mut self) {
        let words = match self.chat.toggle_thinking() {
            true => "What the model thinks is shown, where it tells.",
            false => "What the model thinks is hidden.",
        };
        self.say(words);
    }

    fn show(&mut self, mut show: UiUpdate) {
        if let UiUpdate::UserMessage { text, .. } = &mut show {
            *text = self.editor.labelled(text);
        }
        let context = self.session.context();
        let time = context.clock.hour_minute();
        self.chat
            .show(&show, &time, Instant::now(), &context.registry());
        match show {
            UiUpdate::Event(Event::Delta(text)) => {
                self.said.push_str(&text);
                if self.said.len() > 2 * MAX_REASON_BYTES {
                    self.said = tail(&self.said, MAX_REASON_BYTES).to_owned();
                }
            }
            // What was said before an earlier round of calls is no reason for the next.
            UiUpdate::Event(Event::ToolsStarted(_)) => {
                self.reason = ask::reason(&std::mem::take(&mut self.said));
            }
            UiUpdate::UserMessage { .. } => self.said.clear(),
            UiUpdate::AnswerEnd(_) => {
                self.said.clear();
                self.reason.clear();
                self.waiting.clear();
                if self.is_declining() {
                    self.restore_draft();
                }
                self.open_question = None;
            }
            UiUpdate::Ask(question) => {
                self.waiting.push_back(question);
                self.next_question();
            }
            UiUpdate::AskOver => self.close_questions_that_are_over(),
            UiUpdate::Undone(said) if self.editor.is_empty() => self.editor.set_text(&said),
            UiUpdate::Unsent(text) if self.editor.is_empty() => self.editor.set_text(&text),
            UiUpdate::Unsent(text) => {
                let draft = format!("{text}\n\n{}", self.editor.whole_text());
                self.editor.set_text(&draft);
            }
            UiUpdate::Insert(text) => {
                self.flash = None;
                if !self.mention(&text) {
                    self.editor.paste_folded(&text);
                }
            }
            UiUpdate::Mention(name) => self.attach_pasted(&name),
            UiUpdate::Copied(copied) => self.copied(&copied),
            UiUpdate::FilesFound(found) => {
                self.editor.set_found_files(&found);
                self.search_files();
            }
            UiUpdate::ToggleThinking => self.toggle_thinking(),
            UiUpdate::Theme(choice) => {
                if let Some(words) = self.colours.choose(choice) {
                    self.chat.add(Tone::System, words);
                }
                self.theme = self.colours.theme();
            }
            UiUpdate::Alert(_) => self.host_actions.push_back(HostAction::Ring),
            UiUpdate::ChooseSession { rows, at_start } => {
                self.overlay = Some(Overlay::List(Picker::of_sessions(rows, at_start)));
            }
            UiUpdate::Choose(list) => self.overlay = Some(Overlay::List(Picker::new(list))),
            UiUpdate::Offer(list) => self.offer_list(list),
            UiUpdate::Prompt(prompt) => {
                self.overlay = Some(Overlay::Line(LineInput::new(prompt)));
            }
            UiUpdate::RunProgram(program) => {
                self.host_actions.push_back(HostAction::Run(program));
            }
            UiUpdate::Edit(path) => self.host_actions.push_back(HostAction::Edit(path)),
            UiUpdate::Leave(words) => {
                self.farewell = words;
                self.leave(0);
            }
            _ => {}
        }
    }
}
