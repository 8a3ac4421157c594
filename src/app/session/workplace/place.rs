//! Where the session works, for the status line: the folder and the branch that is checked out in it.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use crate::app::session::run::Run;
use crate::app::session::ui_update::Place;
use crate::app::session::worker_event::WorkerEvent;
use crate::disk::git_head;

/// The place as it was read last.
#[derive(Debug, Default)]
pub(super) struct PlaceState {
    latest: Option<Place>,
    /// A thread is reading it.
    is_reading: bool,
    /// Something has happened since then that may have changed it.
    is_stale: bool,
}

impl PlaceState {
    pub(super) fn latest(&self) -> Option<&Place> {
        self.latest.as_ref()
    }

    /// Reads the place again, on a thread, because the folder may be on a slow disk.
    pub(super) fn read(&mut self, run: &Run) {
        if self.is_reading {
            self.is_stale = true;
            return;
        }
        let Some(root) = run.context.working_dir.root() else {
            self.latest = None;
            return;
        };
        let dir = root.path().to_owned();
        let inbox = Arc::clone(&run.inbox);
        // Without a thread the next end of a turn tries again.
        let started = thread::Builder::new()
            .name("place".to_owned())
            .spawn(move || inbox.send(WorkerEvent::Place(read(dir))));
        self.is_reading = started.is_ok();
    }

    /// A thread has read it. True when it is another one.
    pub(super) fn was_read(&mut self, place: Place, run: &Run) -> bool {
        self.is_reading = false;
        let is_new = self.latest.as_ref() != Some(&place);
        self.latest = Some(place);
        if std::mem::take(&mut self.is_stale) {
            self.read(run);
        }
        is_new
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
