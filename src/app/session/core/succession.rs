//! How one conversation takes the place of another: at the start, for another session, for another profile.

use super::Core;
use crate::app::session::orders::Orders;
use crate::app::session::run::Run;
use crate::app::session::said_before::SaidBefore;
use crate::app::session::ui_update::UiUpdate;
use crate::app::session::worker_event::ProfileSwitch;
use crate::app::sessions::BegunSession;
use crate::app::sessions::earlier::ConversationStart;
use crate::base::problem::Outcome;
use crate::base::text::one_line;
use crate::store::sessions::Replay;

impl Core {
    pub(in crate::app::session) fn choose_first_model(&mut self, run: &Run, orders: &mut Orders) {
        (self.model).choose(run.settings.model.choice.clone(), run, orders);
    }

    /// Nothing of what was said, noted or begun goes on in the conversation that follows.
    pub(super) fn leave_conversation(&mut self, run: &Run) {
        self.conversation.leave(run);
        self.turns.leave_conversation();
        self.flow.leave_conversation();
    }

    pub(super) fn start_loaded(
        &mut self,
        start: Outcome<ConversationStart>,
        run: &Run,
        orders: &mut Orders,
    ) {
        let start = start.unwrap_or_else(|problem| {
            orders.fail(problem);
            ConversationStart::default()
        });
        self.begin_after(&start, run, orders);
        if !start.entries.is_empty() {
            let update = UiUpdate::EarlierConversation(start.entries);
            orders.show(update);
        }
        self.choose_first_model(run, orders);
    }

    fn begin_after(&mut self, start: &ConversationStart, run: &Run, orders: &mut Orders) {
        if start.is_apart {
            // The chat log holds what was said elsewhere too.
            let said = SaidBefore::Earlier(start.entries.clone());
            self.flow.begin_after(said);
        }
        self.conversation.seed(&start.entries, run);
        if let Some(words) = &start.offer {
            orders.remark(words.clone());
        }
    }

    /// Goes on with what was said in a session.
    pub(in crate::app::session) fn take_over(
        &mut self,
        replay: &Replay,
        run: &Run,
        orders: &mut Orders,
    ) {
        self.leave_conversation(run);
        (self.conversation).take_over(replay, run, orders);
        let said = replay.spoken().cloned().collect();
        self.flow.begin_after(SaidBefore::Session(said));
    }

    /// An empty conversation. The chat log, which is what is remembered across sessions, stays as it is.
    pub(super) fn new_session(&mut self, run: &Run, orders: &mut Orders) {
        let before = (self.conversation).begin_session(run, orders);
        self.leave_conversation(run);
        self.flow.begin_after(SaidBefore::Session(Vec::new()));
        orders.show(UiUpdate::SessionOpened(Vec::new()));
        orders.remark(match before {
            Some(id) => format!("A new session. /resume {id} goes back to the one before."),
            None => "A new session.".to_owned(),
        });
    }

    pub(super) fn session_loaded(
        &mut self,
        begun: Outcome<Box<BegunSession>>,
        run: &Run,
        orders: &mut Orders,
    ) {
        match begun {
            Ok(begun) => {
                (self.conversation).change_session(&begun, run, orders);
                if let Some(replay) = &begun.replay {
                    self.take_over(replay, run, orders);
                    let title = replay.name.clone().unwrap_or_else(|| replay.first());
                    let words = format!("Session {}: {}", begun.log.id().short(), one_line(&title));
                    orders.remark(words);
                }
            }
            Err(problem) => orders.fail(problem),
        }
        orders.send_next();
    }

    pub(super) fn profile_switched(
        &mut self,
        outcome: Outcome<ProfileSwitch>,
        run: &Run,
        orders: &mut Orders,
    ) {
        match outcome {
            Ok(switched) => {
                let model = self.memory_model(run);
                self.flow.leave_profile(model, run);
                run.context.set_profile(&switched.name);
                (self.conversation).begin_session(run, orders);
                self.leave_conversation(run);
                let made = match switched.created {
                    true => ", which is new",
                    false => "",
                };
                let words = format!("Profile {}{made}.", switched.name);
                orders.show(UiUpdate::Profile(switched.name));
                orders.remark(words);
                self.begin_after(&switched.start, run, orders);
                if let Some(message) = switched.resend {
                    self.turns.push_front(message);
                }
            }
            Err(problem) => orders.fail(problem),
        }
        orders.send_next();
    }
}
