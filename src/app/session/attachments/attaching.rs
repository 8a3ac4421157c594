//! What may go with messages to come: the images of the command line, those that were pasted, and what could not be attached.

use std::path::PathBuf;

use super::attach::{self, MoreImages, OnFailure, PastedImages};
use crate::app::session::ui_update::UiUpdate;
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;
use crate::base::text::escape_controls;
use crate::proc::clipboard::ClipboardContent;

/// Pasted images that are kept for messages to come; the oldest is dropped.
const MAX_PASTED: usize = 20;
const MAX_PASTED_BYTES: usize = 64 << 20;

#[derive(Default)]
pub(in crate::app::session) struct Attaching {
    images: MoreImages,
    /// How many images were pasted.
    pasted_count: usize,
    /// Stops the reading of the clipboard, while it is read.
    reading: Option<Cancel>,
    /// The message that could not be sent with its attachments; sent again, it goes without them.
    refused: Option<String>,
}

impl Attaching {
    /// These files go with the first message.
    pub(in crate::app::session) fn new(files: Vec<PathBuf>) -> Self {
        let images = MoreImages {
            files,
            ..MoreImages::default()
        };
        Self {
            images,
            ..Self::default()
        }
    }

    /// Which files wait for the next message.
    pub(in crate::app::session) fn announcement(&self) -> Option<String> {
        let names = self.images.files.iter();
        let names: Vec<String> = names
            .map(|path| escape_controls(&path.to_string_lossy()))
            .collect();
        (!names.is_empty()).then(|| format!("Goes with your next message: {}", names.join(", ")))
    }

    /// Whether something may have to be read before `message` is sent.
    pub(in crate::app::session) fn may_attach(&self, message: &str) -> bool {
        !self.images.files.is_empty() || attach::mentions_any(message)
    }

    /// What goes with `message` besides the files that it mentions, and what happens when that fails. The second time it goes without.
    pub(in crate::app::session) fn begin(&mut self, message: &str) -> (MoreImages, OnFailure) {
        let on_failure = match self.refused.take_if(|text| text == message) {
            Some(_) => OnFailure::SendWithout,
            None => OnFailure::Refuse,
        };
        (self.images.clone(), on_failure)
    }

    /// The message is sent with what was read.
    pub(in crate::app::session) fn attached(&mut self) {
        self.images.files.clear();
    }

    /// This message could not be sent with what goes with it.
    pub(in crate::app::session) fn refuse(&mut self, message: String) {
        self.refused = Some(message);
    }

    /// Another conversation begins: a message there is another one.
    pub(in crate::app::session) fn forget_refused(&mut self) {
        self.refused = None;
    }

    /// The clipboard is read until it is `pasted`, or `stop` fires.
    pub(in crate::app::session) fn read_clipboard(&mut self, stop: Cancel) {
        self.reading = Some(stop);
    }

    pub(in crate::app::session) fn is_reading_clipboard(&self) -> bool {
        self.reading.is_some()
    }

    /// Stops reading the clipboard; false when it is not read.
    pub(in crate::app::session) fn stop_reading(&self) -> bool {
        self.reading.as_ref().map(Cancel::fire).is_some()
    }

    /// The clipboard was read: what the input gets of it. Nothing when that was stopped.
    pub(in crate::app::session) fn pasted(
        &mut self,
        outcome: Outcome<ClipboardContent>,
    ) -> Option<UiUpdate> {
        if self.reading.take().is_some_and(|stop| stop.is_fired()) {
            return None;
        }
        Some(match outcome {
            Ok(ClipboardContent::Text(text)) => UiUpdate::Insert(text),
            Ok(ClipboardContent::Image(bytes)) => {
                self.pasted_count += 1;
                let name = pasted_name(self.pasted_count);
                self.images.pasted.insert(name.clone(), bytes.into());
                self.forget_oldest();
                UiUpdate::Mention(name)
            }
            Err(problem) => UiUpdate::Failed(problem),
        })
    }

    /// Forgets the oldest pasted images beyond the limits, but never the newest.
    fn forget_oldest(&mut self) {
        let pasted = &mut self.images.pasted;
        let is_too_much = |pasted: &PastedImages| {
            let bytes: usize = pasted.values().map(|image| image.len()).sum();
            pasted.len() > MAX_PASTED || bytes > MAX_PASTED_BYTES
        };
        for oldest in 1..self.pasted_count {
            if !is_too_much(pasted) {
                return;
            }
            pasted.remove(&pasted_name(oldest));
        }
    }
}

/// The name that stands for the pasted image of this number. What kind it is, its bytes say.
fn pasted_name(number: usize) -> String {
    format!("clipboard-{number}.png")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paste(attaching: &mut Attaching, bytes: usize) -> Option<UiUpdate> {
        attaching.pasted(Ok(ClipboardContent::Image(vec![0; bytes])))
    }

    fn names(attaching: &mut Attaching) -> Vec<String> {
        attaching.begin("").0.pasted.into_keys().collect()
    }

    #[test]
    fn files_of_the_command_line_go_with_one_message() {
        let mut attaching = Attaching::new(vec!["a.png".into(), "b.png".into()]);
        let words = "Goes with your next message: a.png, b.png";
        assert_eq!(attaching.announcement().as_deref(), Some(words));
        assert!(attaching.may_attach("hello"));
        assert_eq!(attaching.begin("hello").0.files.len(), 2);
        attaching.attached();
        assert_eq!(attaching.announcement(), None);
        assert!(!attaching.may_attach("hello") && attaching.may_attach("see @c.png"));
    }

    #[test]
    fn a_message_that_was_refused_goes_without_the_second_time() {
        let mut attaching = Attaching::default();
        attaching.refuse("see @gone".to_owned());
        assert_eq!(attaching.begin("another").1, OnFailure::Refuse);
        assert_eq!(attaching.begin("see @gone").1, OnFailure::SendWithout);
        assert_eq!(attaching.begin("see @gone").1, OnFailure::Refuse);
        attaching.refuse("see @gone".to_owned());
        attaching.forget_refused();
        assert_eq!(attaching.begin("see @gone").1, OnFailure::Refuse);
    }

    #[test]
    fn the_oldest_pasted_images_are_forgotten_but_never_the_newest() {
        let mut attaching = Attaching::default();
        for _ in 0..MAX_PASTED + 2 {
            paste(&mut attaching, 1);
        }
        let kept = names(&mut attaching);
        assert_eq!(kept.len(), MAX_PASTED);
        assert!(!kept.contains(&pasted_name(2)) && kept.contains(&pasted_name(3)));
        paste(&mut attaching, MAX_PASTED_BYTES + 1);
        assert_eq!(names(&mut attaching), [pasted_name(MAX_PASTED + 3)]);
    }

    #[test]
    fn what_was_stopped_is_not_pasted() {
        let mut attaching = Attaching::default();
        assert!(!attaching.stop_reading());
        attaching.read_clipboard(Cancel::new());
        assert!(attaching.is_reading_clipboard() && attaching.stop_reading());
        assert!(paste(&mut attaching, 1).is_none());
        assert!(!attaching.is_reading_clipboard());
        assert!(names(&mut attaching).is_empty());
    }
}
