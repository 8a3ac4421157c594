//! Choosing from a list: which lists there are, and that a choice does what the command with the chosen name does.

use std::sync::Arc;

use super::choice::{ChoiceKind, ChoiceList, ChoiceRow, mark};
use super::inbox::WorkerEvent;
use super::{BackendState, Session, listing};
use crate::app::session::ui_update::UiUpdate;
use crate::app::theme_choice::{CurrentTheme, ThemeChoice};

impl Session {
    /// Does what the command of the list does with the chosen row.
    pub(crate) fn choose_from_list(&mut self, kind: ChoiceKind, id: &str) {
        let done = match kind {
            ChoiceKind::Sessions => self.resume(id),
            ChoiceKind::Themes => self.change_theme(id),
            ChoiceKind::Models if id == listing::SET_UP => {
                self.offer_set_up(false);
                Ok(())
            }
            ChoiceKind::SetUp | ChoiceKind::KeyProviders | ChoiceKind::ServerModels => {
                self.choose_set_up(kind, id);
                Ok(())
            }
            ChoiceKind::Models => {
                // The name of a model may be any text; that of a provider is a word.
                let words = id.splitn(2, ' ').map(str::to_owned);
                self.model(words.collect());
                Ok(())
            }
        };
        if let Err(problem) = done {
            self.updates.push(UiUpdate::Failed(problem));
        }
    }

    /// Shows the models that are known. A key may be in a file, so it is looked for on a thread.
    pub(super) fn offer_models(&mut self) {
        if self.needs_set_up() {
            self.offer_set_up(false);
            return;
        }
        let (words, current) = match &self.backend {
            BackendState::Ready(target) => (
                target.words(),
                Some((target.provider.name(), target.model.clone())),
            ),
            BackendState::Choosing => ("Nobody answers yet.".to_owned(), None),
            BackendState::Failed(reason) => (reason.clone(), None),
        };
        let (context, inbox) = (Arc::clone(&self.context), Arc::clone(&self.inbox));
        let started = self.work("models", move || {
            let current = current.as_ref();
            let current = current.map(|(provider, model)| (*provider, model.as_str()));
            let list = listing::models(&context, &words, current);
            inbox.send(WorkerEvent::Choices(Box::new(list)));
        });
        self.listings += usize::from(started);
    }

    pub(super) fn choices_listed(&mut self, list: ChoiceList) {
        self.listings -= 1;
        self.updates.push(UiUpdate::Choose(list));
    }

    /// Shows the themes.
    pub(super) fn offer_themes(&mut self) {
        let current = self.context.modules.get::<CurrentTheme>().get();
        let widest = ThemeChoice::ALL.iter().map(|(_, name, _)| name.len()).max();
        let widest = widest.unwrap_or_default();
        let row = |(choice, name, about): &(ThemeChoice, &str, &str)| {
            let is_current = *choice == current;
            ChoiceRow {
                id: (*name).to_owned(),
                lead: mark(is_current).to_owned(),
                title: format!("{name:<widest$}  {about}"),
                is_current,
                ..ChoiceRow::default()
            }
        };
        let rows: Vec<ChoiceRow> = ThemeChoice::ALL.iter().map(row).collect();
        let lines = rows
            .iter()
            .map(|row| format!("{} {}\n", row.lead, row.title));
        let lines: String = lines.collect();
        self.updates.push(UiUpdate::Choose(ChoiceList {
            kind: ChoiceKind::Themes,
            rows,
            hint: String::new(),
            listing: format!("{lines}\n/theme NAME changes it, here and in later sessions.\n"),
        }));
    }
}
