//! `/theme`: shows or changes the colours.

use std::sync::Arc;

use super::Session;
use super::inbox::WorkerEvent;
use crate::app::session::ui_update::UiUpdate;
use crate::app::theme_choice::ThemeChoice;
use crate::base::problem::Outcome;
use crate::base::variables::MARVIN_THEME;

impl Session {
    /// Lists the themes, or takes another one and stores it for later sessions.
    pub(super) fn change_theme(&mut self, word: &str) -> Outcome<()> {
        if word.is_empty() {
            let rows = ThemeChoice::ALL.iter();
            let rows = rows.map(|(_, name, about)| format!("{name:<12} {about}\n"));
            let list: String = rows.collect();
            let list = format!("{list}\n/theme NAME changes it, here and in later sessions.\n");
            self.updates.push(UiUpdate::Listing(list));
            return Ok(());
        }
        let choice = ThemeChoice::parse(word)?;
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
