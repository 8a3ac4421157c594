//! `/theme`: shows or changes the colours.

use std::sync::Arc;

use super::Session;
use super::inbox::WorkerEvent;
use crate::app::session::ui_update::UiUpdate;
use crate::app::theme_choice::{CurrentTheme, ThemeChoice};
use crate::base::problem::Outcome;
use crate::base::variables::MARVIN_THEME;

impl Session {
    /// The theme that the interface begins with; `warn` gets what is wrong with the setting.
    pub(crate) fn first_theme(&self, warn: &mut dyn FnMut(String)) -> ThemeChoice {
        let choice = ThemeChoice::read(&self.context.env, warn);
        self.context.modules.get::<CurrentTheme>().set(choice);
        choice
    }

    /// Lists the themes, or takes another one and stores it for later sessions.
    pub(super) fn change_theme(&mut self, word: &str) -> Outcome<()> {
        if word.is_empty() {
            self.offer_themes();
            return Ok(());
        }
        let choice = ThemeChoice::parse(word)?;
        self.context.modules.get::<CurrentTheme>().set(choice);
        let later = match MARVIN_THEME.read(&self.context.env) {
            Some(_) => " MARVIN_THEME decides again in the next session.",
            None => "",
        };
        let words = format!("Theme: {}.{later}", choice.name());
        self.updates.push(UiUpdate::Remark(words));
        // After these words: the interface says what of the theme it cannot show.
        self.updates.push(UiUpdate::Theme(choice));
        let (context, inbox) = (Arc::clone(&self.context), Arc::clone(&self.inbox));
        self.scribe.put(move || {
            if let Err(problem) = choice.store(&context.paths) {
                inbox.send(WorkerEvent::Notice(problem.one_line()));
            }
        });
        Ok(())
    }
}
