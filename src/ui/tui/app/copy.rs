//! What is copied to the clipboard, and what is said about it.

use std::collections::HashSet;

use super::{App, TERMINAL_GONE};
use crate::app::session::ui_update::CopiedText;
use crate::base::text::plural;
use crate::proc::clipboard::Copier;
use crate::ui::keys::{self, Action};
use crate::ui::markdown::last_code;
use crate::ui::term::tty::Tty;
use crate::ui::text::clean::clean_line;
use crate::ui::text::web_address;
use crate::ui::tui::clipboard;

impl App {
    pub(super) fn copy(&mut self, text: Option<String>, what: &str) {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return self.say(&format!("There is no {what} to copy."));
        };
        let length = plural(text.chars().count(), "character");
        self.copy_saying(&text, what, &format!("Copied the {what}, {length}."));
    }

    /// Copies the last block of code: as the model wrote it, where it is in the last reply, else as it is shown.
    pub(super) fn copy_code(&mut self) {
        let written = self.session.reply().and_then(last_code::last_code);
        if written.is_some() {
            return self.copy(written, "block of code");
        }
        let shown = self.chat.code();
        let what = match shown {
            Some(_) => "block of code of an earlier answer",
            None => "block of code",
        };
        self.copy(shown, what);
    }

    /// Copies the last address of the reply; the same key again, the one before it.
    pub(super) fn copy_address(&mut self) {
        let reply = self.session.reply().unwrap_or_default();
        // Each once, the last one first.
        let mut known = HashSet::new();
        let places = web_address::all(reply).into_iter().rev();
        let addresses = places.filter_map(|place| reply.get(place));
        let addresses: Vec<&str> = addresses.filter(|one| known.insert(*one)).collect();
        let is_copied = |one: &&str| self.copied_address.as_deref() == Some(*one);
        let at = match addresses.iter().position(is_copied) {
            Some(copied) => (copied + 1) % addresses.len(),
            None => 0,
        };
        let count = addresses.len();
        let Some(address) = addresses.get(at).map(|one| (*one).to_owned()) else {
            return self.copy(None, "address");
        };
        if count == 1 {
            return self.copy(Some(address), "address");
        }
        let key = keys::name(Action::CopyAddress).unwrap_or_default();
        let words = format!(
            "Copied address {} of {count}, {key} copies another: {}",
            count - at,
            clean_line(&address)
        );
        self.copy_saying(&address, "address", &words);
        self.copied_address = Some(address);
    }

    /// Copies `text`, and says `words` if that was possible.
    fn copy_saying(&mut self, text: &str, what: &str, words: &str) {
        let copied = CopiedText {
            text: text.to_owned(),
            what: what.to_owned(),
            words: words.to_owned(),
            is_done: false,
        };
        match Copier::find(&self.session.context().env) {
            Some(copier) => self.session.copy_with(copier, copied),
            None => self.copied(&copied),
        }
    }

    /// Tells the terminal to copy what nobody has taken yet, and says how that went.
    pub(super) fn copied(&mut self, copied: &CopiedText) {
        let CopiedText { what, words, .. } = copied;
        if copied.is_done {
            return self.say(words);
        }
        match clipboard::copy(&copied.text, &mut Tty) {
            Ok(true) => self.say(words),
            Ok(false) => self.say(&format!(
                "The {what} is too long for the terminal's clipboard."
            )),
            Err(_) => self.leave(TERMINAL_GONE),
        }
    }
}
