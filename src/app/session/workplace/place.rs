//! Where the session works, for the status line: the folder and the branch that is checked out in it.

use std::path::PathBuf;

use crate::app::session::orders::Orders;
use crate::app::session::run::Run;
use crate::app::session::ui_update::Place;
use crate::app::session::worker_event::{AwaitedBy, WorkerEvent};
use crate::base::problem::Outcome;
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
    pub(super) fn read(&mut self, run: &Run, orders: &mut Orders) {
        if self.is_reading {
            self.is_stale = true;
            return;
        }
        let Some(root) = run.context.working_dir.root() else {
            self.latest = None;
            return;
        };
        let dir = root.path().to_owned();
        self.is_reading = true;
        let read = move || Ok(read(dir));
        orders.work("place", AwaitedBy::Nobody, read, WorkerEvent::Place);
    }

    /// A thread has read it, or could not: then the next end of a turn tries again. True when it is another one.
    pub(super) fn was_read(
        &mut self,
        place: Outcome<Place>,
        run: &Run,
        orders: &mut Orders,
    ) -> bool {
        self.is_reading = false;
        let place = place.ok().or_else(|| self.latest.clone());
        let is_new = self.latest != place;
        self.latest = place;
        if std::mem::take(&mut self.is_stale) {
            self.read(run, orders);
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
