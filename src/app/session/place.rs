//! Where the session works, for the status line: the folder and the branch that is checked out in it.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use super::Session;
use super::inbox::WorkerEvent;
use crate::app::session::ui_update::{Place, UiUpdate};
use crate::disk::git_head;

/// The place as it was read last.
#[derive(Debug, Default)]
pub(super) struct PlaceState {
    pub(super) place: Option<Place>,
    /// A thread is reading it.
    is_reading: bool,
    /// Something has happened since then that may have changed it.
    is_stale: bool,
}

impl Session {
    /// Reads the place again: when a turn or a command has ended, never for a frame. On a thread, because the folder may be on a slow disk.
    pub(super) fn read_place(&mut self) {
        if self.place.is_reading {
            self.place.is_stale = true;
            return;
        }
        let Some(root) = self.context.working_dir.root() else {
            self.place.place = None;
            return;
        };
        let dir = root.path().to_owned();
        let inbox = Arc::clone(&self.inbox);
        let started = thread::Builder::new()
            .name("place".to_owned())
            .spawn(move || inbox.send(WorkerEvent::Place(read(dir))));
        self.place.is_reading = started.is_ok();
    }

    /// A thread has read it.
    pub(super) fn place_read(&mut self, place: Place) {
        self.place.is_reading = false;
        if self.place.place.as_ref() != Some(&place) {
            self.place.place = Some(place);
            self.updates.push(UiUpdate::PlaceChanged);
        }
        if std::mem::take(&mut self.place.is_stale) {
            self.read_place();
        }
    }
}

fn read(dir: PathBuf) -> Place {
    let folder = dir.file_name().map_or_else(
        || "/".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    Place {
        folder,
        branch: git_head::branch(&dir),
    }
}
