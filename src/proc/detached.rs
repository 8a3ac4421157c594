//! Starts a program that outlives this process: in a session of its own, with a file for its output and nothing to read.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::thread;

use crossbeam_channel::{Receiver, bounded};

use super::own_image;
use super::spawn::spawn_in_new_session;
use crate::base::problem::{Outcome, Problem};

pub(crate) struct DetachedProgram {
    pub program: PathBuf,
    /// Its arguments; never through a shell.
    pub args: Vec<OsString>,
    /// Its working directory.
    pub dir: PathBuf,
    pub env: Vec<(String, String)>,
    /// Gets both of its output streams.
    pub output: File,
}

impl DetachedProgram {
    /// Starts it. The receiver gets its exit status, if this process lives to see it.
    pub(crate) fn start(self) -> Outcome<Receiver<ExitStatus>> {
        let name = |path: &Path| path.display().to_string();
        let cannot = format!("Cannot start {}", name(&self.program));
        let failed = |error| Problem::system(&cannot, error);
        let errors = self.output.try_clone().map_err(failed)?;
        let mut command = own_image::command(&self.program);
        command
            .args(&self.args)
            .current_dir(&self.dir)
            .env_clear()
            .envs(self.env)
            .stdin(Stdio::null())
            .stdout(self.output)
            .stderr(errors);
        let mut child = spawn_in_new_session(command).map_err(failed)?;
        let (send, ended) = bounded(1);
        // Someone has to wait for it, or it stays a zombie for as long as this process lives.
        let _unwatched = thread::Builder::new()
            .name("detached".to_owned())
            .spawn(move || {
                if let Ok(status) = child.wait() {
                    let _ = send.send(status);
                }
            });
        Ok(ended)
    }
}
