//! Files that a message attaches: the search for the name that is typed, dragged files, and images from the clipboard.

use super::App;
use crate::app::session::pasted_path;

impl App {
    /// Lets the session search for the file whose name is typed. A comment to the model and a line for the shell attach none.
    pub(super) fn search_files(&mut self) {
        let takes_files = self.takes_files();
        let query = self.editor.file_query().filter(|_| takes_files);
        self.session.search_files(query);
    }

    pub(super) fn takes_files(&self) -> bool {
        !self.is_declining() && !self.session.has_shell()
    }

    /// Attaches the images whose paths were pasted: files that were dragged onto the terminal. False when it is anything else.
    pub(super) fn mention(&mut self, pasted: &str) -> bool {
        if !self.takes_files() || !pasted_path::takes_mentions(self.editor.text()) {
            return false;
        }
        let images = pasted_path::images(pasted, self.session.context());
        images.is_some_and(|paths| {
            // Where one cannot be mentioned, none can.
            paths.iter().all(|path| self.editor.mention(path))
        })
    }

    /// Attaches an image from the clipboard to the message that is written.
    pub(super) fn attach_pasted(&mut self, name: &str) {
        self.flash = None;
        if !self.takes_files() || !pasted_path::takes_mentions(self.editor.text()) {
            self.say("An image goes with a message only.");
        } else if !self.editor.mention(name) {
            // In the middle of something: as a word of its own all the same.
            self.editor.paste(&format!(" @{name} "));
        }
    }
}
