//! The programs that are compared, and the server they all talk to.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A program and how it is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    Floor,
    Curl,
    Aichat,
    Marvin,
}

impl Contender {
    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Curl => "`curl -N`",
            Self::Aichat => "aichat",
            Self::Marvin => "marvin",
        }
    }
}

/// Where everything is; the folder is gone when dropped.
pub struct Stage {
    pub dir: tempfile::TempDir,
    pub floor: PathBuf,
    /// The Marvin that is measured.
    pub marvin: PathBuf,
    pub aichat: Option<PathBuf>,
    pub server: BenchServer,
}

impl Stage {
    /// Builds the floor and the server and starts the latter.
    pub fn set() -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo)
            .args(["build", "--release", "--quiet", "--examples"])
            .args([
                "--manifest-path",
                concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
            ])
            .status()
            .expect("cargo");
        assert!(built.success(), "the floor and the server do not build");
        let here = std::env::current_exe().expect("this program's path");
        let target = here.ancestors().nth(2).expect("the target folder");
        let dir = tempfile::tempdir().expect("a temporary folder");
        fs::write(
            dir.path().join("body.json"),
            r#"{"model":"bench","stream":true,"messages":[{"role":"user","content":"hi"}]}"#,
        )
        .expect("a body for curl");
        Self {
            floor: installed(&target.join("examples/floor"), dir.path()),
            marvin: installed(&release_binary(), dir.path()),
            dir,
            aichat: std::env::var_os("BENCH_AICHAT")
                .map(PathBuf::from)
                .or_else(|| on_path("aichat")),
            server: BenchServer::start(&target.join("examples/bench-server")),
        }
    }

    /// Those that can run here, in the table's order.
    pub fn contenders(&self) -> Vec<Contender> {
        let mut list = vec![Contender::Floor];
        if on_path("curl").is_some() {
            list.push(Contender::Curl);
        }
        if self.aichat.is_some() {
            list.push(Contender::Aichat);
        }
        list.push(Contender::Marvin);
        list
    }

    /// A new empty home with a working directory `work` and Marvin's folder `config`.
    pub fn home(&self, name: &str) -> PathBuf {
        let home = self.dir.path().join(name);
        for folder in ["work", "config"] {
            fs::create_dir_all(home.join(folder)).expect("a home");
        }
        home
    }

    /// The command that prints a version.
    pub fn version(&self, who: Contender) -> Command {
        let mut command = self.bare(who);
        command.arg("--version");
        command
    }

    /// The command with the prompt "hi" for the reply `plan` (see `server.rs`) from `home`; `rounds` is for the floor, which does not know the
    /// number itself.
    pub fn ask(&self, who: Contender, plan: &str, home: &Path, rounds: usize) -> Command {
        let mut command = self.bare(who);
        let address = format!("127.0.0.1:{}", self.server.port);
        let base = format!("http://{address}/{plan}/v1");
        command.env("HOME", home).current_dir(home.join("work"));
        match who {
            Contender::Floor => {
                command.args([&address, &format!("/{plan}/v1"), &rounds.to_string()]);
            }
            Contender::Curl => {
                command.args([
                    "-N",
                    "-s",
                    "-H",
                    "Content-Type: application/json",
                    "--data-binary",
                ]);
                command.arg(format!("@{}", self.dir.path().join("body.json").display()));
                let path = match plan.starts_with("responses") {
                    true => "responses",
                    false => "chat/completions",
                };
                command.arg(format!("{base}/{path}"));
            }
            Contender::Aichat => {
                let config = home.join("aichat");
                fs::create_dir_all(&config).expect("a folder for aichat");
                let text = format!(
                    "model: bench:bench\nsave: false\nclients:\n- type: openai-compatible\n  name: bench\n  api_base: {base}\n  api_key: x\n  models:\n  - name: bench\n"
                );
                fs::write(config.join("config.yaml"), text).expect("aichat's configuration");
                command.env("AICHAT_CONFIG_DIR", config).arg("hi");
            }
            Contender::Marvin => {
                command.env("MARVIN_CONFIG_DIR", home.join("config"));
                command.env("OPENAI_COMPAT_URL", base);
                command.env("OPENAI_COMPAT_API_KEY", "x");
                if plan.starts_with("responses") {
                    command.env("OPENAI_COMPAT_WIRE", "responses");
                }
                command.args([
                    "--non-interactive",
                    "--provider",
                    "openai-compat",
                    "--model",
                    "bench",
                ]);
                command
                    .args(["--prompt", "hi", "--working-dir"])
                    .arg(home.join("work"));
            }
        }
        command
    }

    fn bare(&self, who: Contender) -> Command {
        let mut command = match who {
            Contender::Floor => Command::new(&self.floor),
            Contender::Curl => Command::new(on_path("curl").expect("curl")),
            Contender::Aichat => Command::new(self.aichat.as_ref().expect("aichat")),
            Contender::Marvin => Command::new(&self.marvin),
        };
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }
}

/// The Marvin just built, unless `BENCH_MARVIN` names another.
pub fn release_binary() -> PathBuf {
    let built = || PathBuf::from(env!("CARGO_BIN_EXE_marvin"));
    std::env::var_os("BENCH_MARVIN").map_or_else(built, PathBuf::from)
}

/// A copy of a program, as an installation makes one: the linker's own file lies in the page cache in small pieces, and starts slower.
pub fn installed(program: &Path, dir: &Path) -> PathBuf {
    let copy = dir.join(program.file_name().expect("a program's name"));
    fs::copy(program, &copy).expect("a copy of the program");
    copy
}

/// Where a program is on PATH.
pub fn on_path(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
}

/// The server process; ends with its standard input.
pub struct BenchServer {
    child: Child,
    port: u16,
}

impl BenchServer {
    fn start(program: &Path) -> Self {
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the benchmark server");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe"))
            .read_line(&mut line)
            .expect("the server's port");
        let port = line.trim().parse().expect("a port");
        Self { child, port }
    }

    /// What the server has seen since the last call: `gaps` (nanoseconds), `connections`, `requests`, `largest`, `with_tools`.
    pub fn stats(&self) -> Value {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).expect("the server");
        socket
            .write_all(b"GET /stats HTTP/1.1\r\n\r\n")
            .expect("a request");
        socket.shutdown(std::net::Shutdown::Write).expect("an end");
        let mut text = String::new();
        socket.read_to_string(&mut text).expect("an answer");
        let (_, body) = text.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).expect("JSON")
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
