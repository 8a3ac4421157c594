//! Where the session works: the folder and its branch, the folder of shell mode, and the reviews that run there.

mod place;
mod reviews;
pub(super) mod shell;

use std::path::PathBuf;
use std::sync::Arc;

use super::orders::Orders;
use super::run::Run;
use super::ui_update::{Place, RunningCall, UiUpdate};
use super::worker_event::WorkerEvent;
use crate::base::problem::{Outcome, Problem};
use crate::proc::last_lines::LastLines;
use place::PlaceState;
use reviews::ReviewList;

#[derive(Default)]
pub(super) struct Workplace {
    place: PlaceState,
    reviews: ReviewList,
    /// The directory of shell mode, while it is on.
    shell: Option<PathBuf>,
}

impl Workplace {
    /// The folder and its branch, as they were read last.
    pub(super) fn place(&self) -> Option<&Place> {
        self.place.latest()
    }

    /// Reads them again: when a turn or a command has ended, never for a frame.
    pub(super) fn read_place(&mut self, run: &Run, orders: &mut Orders) {
        self.place.read(run, orders);
    }

    /// They were read, or could not be.
    pub(super) fn place_read(&mut self, place: Outcome<Place>, run: &Run, orders: &mut Orders) {
        if self.place.was_read(place, run, orders) {
            orders.show(UiUpdate::StatusChanged);
        }
    }

    /// Looks for reviews of the project for as long as there are any.
    pub(super) fn watch_reviews(&self, run: &Run) {
        self.reviews.watch(run);
    }

    /// The reviews that run now, one line each.
    pub(super) fn reviews_running(&mut self, lines: Vec<String>) {
        self.reviews.set_running(lines);
    }

    /// The rows of the status line.
    pub(super) fn rows(&self) -> impl Iterator<Item = RunningCall> {
        self.reviews.running().iter().cloned()
    }

    /// The directory of shell mode, while it is on.
    pub(super) fn shell(&self) -> Option<&PathBuf> {
        self.shell.as_ref()
    }

    /// `/shell`: shell mode on or off.
    pub(super) fn toggle_shell(&mut self, run: &Run, orders: &mut Orders) {
        if self.shell.take().is_some() {
            return orders.remark("Shell mode is off.");
        }
        let dir = run.command_dir();
        orders.remark(format!("Shell mode, in {}. /shell ends it.", dir.display()));
        self.shell = Some(dir);
    }

    /// A line in shell mode.
    ///
    /// # Errors
    /// It is no command, or changes to a folder that does not exist.
    pub(super) fn shell_line(&mut self, line: &str, run: &Run, orders: &mut Orders) -> Outcome<()> {
        let Some(dir) = self.shell.clone() else {
            return Ok(());
        };
        if let Some(changed) = shell::change_dir(line, &dir, run.home().as_deref()) {
            let dir = changed?;
            orders.remark(dir.display().to_string());
            self.shell = Some(dir);
            return Ok(());
        }
        let (text, background) = shell::command(line)?;
        run_shell(text, background, dir, run, orders);
        Ok(())
    }
}

/// `/sh`: runs a command in the session's folder.
///
/// # Errors
/// There is none, or it would change nothing.
pub(super) fn run_command(line: &str, run: &Run, orders: &mut Orders) -> Outcome<()> {
    let (text, background) = shell::command(line)?;
    let dir = run.command_dir();
    if let Some(Ok(_)) = shell::change_dir(&text, &dir, run.home().as_deref()) {
        return Err(Problem::input(
            "cd alone changes nothing: each command has a shell of its own.",
        )
        .next("/shell keeps the folder from one command to the next."));
    }
    run_shell(text, background, dir, run, orders);
    Ok(())
}

fn run_shell(text: String, background: bool, dir: PathBuf, run: &Run, orders: &mut Orders) {
    let (context, inbox) = (Arc::clone(&run.context), Arc::clone(&run.inbox));
    let profile = run.context.paths.profile(&run.context.profile());
    let logs = profile.map(|profile| profile.logs());
    let command = text.clone();
    let run_command = move |id, stop| {
        let mut show = |lines: &LastLines| {
            let lines = lines.text();
            inbox.send(WorkerEvent::CommandOutput { id, lines });
        };
        shell::run(&text, &dir, background, &context, &logs?, &stop, &mut show)
    };
    let report = |id, outcome| WorkerEvent::Command { id, outcome };
    orders.job(command, background, run_command, report);
}

/// `/code`: coding mode on or off.
pub(super) fn toggle_coding(run: &Run, orders: &mut Orders) {
    let on = !run.context.coding();
    run.context.set_coding(on);
    orders.remark(match (on, run.context.working_dir.root()) {
        (false, _) => "Coding mode is off.".to_owned(),
        (true, Some(root)) => format!("Coding mode, in {}.", root.path().display()),
        (true, None) => "Coding mode; no working directory is set. Ask for one, or set it: /tool set_working_dir path=DIR.".to_owned(),
    });
}
