//! The other side of Blender's socket: reads one JSON object, does what the test says with the connection, and records the requests. Python code is
//! run by the real Python with a stand-in for Blender's module `bpy` (`fixtures/blender/bpy.py`).

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::run::{Marvin, program};
use super::shared::skip;
use super::tcp::Reserved;

/// How long a connection is held for a client that does not close it.
const HOLD: Duration = Duration::from_secs(30);

/// A running add-on. It serves until the test process ends.
pub struct Peer {
    port: u16,
    requests: Arc<Mutex<Vec<Value>>>,
    closed: Arc<Mutex<usize>>,
    _reserved: Option<Reserved>,
}

impl Peer {
    /// Calls `answer` for each request, with its connection, which is held until the client closes it unless `answer` does.
    pub fn start(answer: impl Fn(&Value, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let (listener, reserved) = loop {
            let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free loopback port");
            let address = listener.local_addr().expect("a bound listener");
            // Clients try both loopback addresses: at the other one nobody may answer.
            if let Ok(reserved) = Reserved::beside(address) {
                break (listener, reserved);
            }
        };
        let port = listener.local_addr().expect("a bound listener").port();
        let (requests, closed, answer) = (
            Arc::<Mutex<Vec<Value>>>::default(),
            Arc::<Mutex<usize>>::default(),
            Arc::new(answer),
        );
        let own = Self {
            port,
            requests: Arc::clone(&requests),
            closed: Arc::clone(&closed),
            _reserved: reserved,
        };
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (requests, closed, answer) = (
                    Arc::clone(&requests),
                    Arc::clone(&closed),
                    Arc::clone(&answer),
                );
                thread::spawn(move || {
                    let mut stream = stream.expect("a connection");
                    let Some(request) = request(&mut stream) else {
                        return;
                    };
                    requests.lock().unwrap().push(request.clone());
                    answer(&request, &mut stream);
                    let _ = stream.set_read_timeout(Some(HOLD));
                    // Nothing may follow the request: the add-on never answers two that arrive together.
                    let mut more = [0; 64];
                    if let Ok(0) | Err(_) = stream.read(&mut more) {
                        *closed.lock().unwrap() += 1;
                    }
                });
            }
        });
        own
    }

    /// An add-on that sends `reply` to every request.
    pub fn replying(reply: impl Into<Vec<u8>>) -> Self {
        let reply = reply.into();
        Self::start(move |_, stream| send(stream, &reply))
    }

    /// An add-on that reports this result.
    pub fn with_result(result: &Value) -> Self {
        Self::replying(success(result))
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }

    /// How many connections the client has closed.
    pub fn closed(&self) -> usize {
        *self.closed.lock().unwrap()
    }

    pub fn port(&self) -> String {
        self.port.to_string()
    }

    /// `marvin` with this as its Blender.
    pub fn named_to(&self, marvin: Marvin) -> Marvin {
        marvin
            .env("BLENDER_MCP_HOST", "127.0.0.1")
            .env("BLENDER_MCP_PORT", self.port())
    }
}

/// Sends bytes; a client may have gone.
pub fn send(stream: &mut TcpStream, bytes: &[u8]) {
    let _ = stream.set_nodelay(true);
    let _ = stream.write_all(bytes);
}

/// A reply with this result.
pub fn success(result: &Value) -> String {
    json!({"status": "success", "result": result}).to_string()
}

/// Reads as the add-on does: until what has arrived is JSON. It gives up on a character that is split between two reads.
fn request(stream: &mut TcpStream) -> Option<Value> {
    let mut received = Vec::new();
    let mut piece = [0; 1024];
    loop {
        match stream.read(&mut piece) {
            Ok(count) if count > 0 => received.extend_from_slice(&piece[..count]),
            _ => return None,
        }
        if let Ok(request) = serde_json::from_str(std::str::from_utf8(&received).ok()?) {
            return Some(request);
        }
    }
}

/// A scene in the stand-in for Blender, kept in a file between requests.
pub struct Scene {
    python: PathBuf,
    state: tempfile::TempDir,
}

impl Scene {
    /// The scene that Blender starts with: a cube, a light and a camera. `None`, with a message, without a Python.
    pub fn new(test: &str) -> Option<Self> {
        let Some(python) = program("python3") else {
            skip(test, "there is no python3");
            return None;
        };
        let state = tempfile::tempdir().expect("a temporary folder");
        Some(Self { python, state })
    }

    /// Runs `code` in the scene as the add-on does, and returns its reply.
    pub fn execute(&self, code: &str) -> String {
        let mut child = Command::new(&self.python)
            .args(["-B", "add_on.py"])
            .arg(self.state.path().join("scene.json"))
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/blender"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin
            .write_all(code.as_bytes())
            .expect("a Python that reads");
        drop(stdin);
        let output = child.wait_with_output().expect("a Python that ends");
        String::from_utf8(output.stdout).expect("a reply in ASCII")
    }

    /// The objects by their names.
    pub fn objects(&self) -> Value {
        let path = self.state.path().join("scene.json");
        let text = std::fs::read_to_string(path).expect("a scene that was used");
        let scene: Value = serde_json::from_str(&text).expect("a scene in JSON");
        scene["objects"].clone()
    }

    /// An add-on that runs code in this scene.
    pub fn peer(self: &Arc<Self>) -> Peer {
        let scene = Arc::clone(self);
        Peer::start(move |request, stream| {
            let code = request["params"]["code"].as_str().expect("code");
            send(stream, scene.execute(code).as_bytes());
        })
    }
}
