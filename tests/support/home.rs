//! A home of its own for each test: empty folders, an environment with only PATH, and Marvin run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::run::Marvin;
use super::server::Server;

/// A temporary home with a configuration folder and a working directory in it; gone when dropped.
pub struct Home {
    dir: TempDir,
}

impl Home {
    /// Fresh folders.
    pub fn new() -> Self {
        let dir = TempDir::with_prefix("marvin-test-").expect("a temporary folder");
        let home = Self { dir };
        fs::create_dir(home.config()).expect("a configuration folder");
        fs::create_dir(home.work()).expect("a working directory");
        home
    }

    /// The home itself, free of symbolic links.
    pub fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("an existing home")
    }

    /// What `MARVIN_CONFIG_DIR` names.
    pub fn config(&self) -> PathBuf {
        self.path().join("config")
    }

    /// The folder Marvin is started in.
    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    /// Writes a file below the home, with the folders on its way.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        write(&self.path().join(path), bytes)
    }

    /// Writes a program below the home.
    pub fn program(&self, path: &str, script: impl AsRef<[u8]>) -> PathBuf {
        let text = self.write(&format!("{path}.text"), script);
        let file = self.path().join(path);
        copy_program(&text, &file);
        fs::remove_file(text).expect("the text of a program");
        file
    }

    /// Reads a file below the home.
    pub fn read(&self, path: &str) -> String {
        let path = self.path().join(path);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// Whether this path exists below the home.
    pub fn has(&self, path: &str) -> bool {
        self.path().join(path).exists()
    }

    /// A PATH without scheduler and notifier, so that the machine's own crontab and job queue are not touched.
    pub fn path_without_scheduler(&self) -> String {
        for name in ["crontab", "at", "notify-send"] {
            self.program(&format!("bin/{name}"), "#!/bin/sh\nexit 1\n");
        }
        format!("{}:/usr/bin:/bin", self.path().join("bin").display())
    }

    /// The built binary, to be run in this home's working directory with this home's environment.
    pub fn marvin(&self) -> Marvin {
        Marvin::new(Path::new(env!("CARGO_BIN_EXE_marvin")))
            .env("HOME", self.path())
            .env("MARVIN_CONFIG_DIR", self.config())
            .dir(&self.work())
    }

    /// The same, to call one tool directly.
    pub fn tool(&self, name: &str, args: &Value) -> Marvin {
        self.marvin()
            .args(["tool", name, "--json", &args.to_string()])
    }

    /// A conversation in plain lines with the model of `server`.
    pub fn chat(&self, server: &Server) -> Marvin {
        self.marvin().with_model(server).arg("--plain")
    }

    /// What a tool says that succeeds.
    #[track_caller]
    pub fn said(&self, name: &str, args: Value) -> String {
        self.tool(name, &args).run().expect(0).text().to_owned()
    }

    /// The error of a tool that fails.
    #[track_caller]
    pub fn refused(&self, name: &str, args: Value) -> String {
        self.tool(name, &args).run().expect(1).errors()
    }

    /// The same as a client of a server that speaks the OpenAI dialect at `base` (`http://127.0.0.1:PORT/v1`),
    /// non-interactive, with this prompt.
    pub fn ask(&self, base: &str, prompt: &str) -> Marvin {
        self.marvin()
            .with_provider("openai-compat", base, "test-model")
            .args(["--non-interactive", "--prompt", prompt])
    }
}

/// Writes a file with the folders on its way.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> PathBuf {
    let folder = path.parent().expect("a file in a folder");
    fs::create_dir_all(folder).expect("folders on the way");
    fs::write(path, bytes).expect("a file written");
    path.to_owned()
}

/// Makes `to` a program with what `from` holds.
///
/// A process of its own writes it: what another test starts at this moment inherits the files that are open here, and a program that somebody might
/// still write to is not executed (ETXTBSY).
pub fn copy_program(from: &Path, to: &Path) {
    let mut install = Command::new("install");
    install.args(["-m", "755"]).args([from, to]);
    assert!(
        install.status().expect("install").success(),
        "{}",
        to.display()
    );
}
