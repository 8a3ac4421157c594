//! The real CLI, where `MARVIN_TEST_COPILOT_CLI` names it, with a server of the user's own that falls silent or is not there.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::*;
use crate::base::testing::assert_has;

/// How long the real CLI may take for what only it has to do.
const LIMIT: Duration = Duration::from_secs(60);

const ANSWER: &str = concat!(
    "data: {\"id\":\"a\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"It is fine.\"},\"finish_reason\":null}]}\n\n",
    "data: {\"id\":\"a\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n"
);

/// A server that says nothing until it `answers`.
struct SilentServer {
    url: String,
    answers: Arc<AtomicBool>,
    /// A request has come.
    asked: Receiver<()>,
}

impl SilentServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let answers = Arc::new(AtomicBool::new(false));
        let may_answer = Arc::clone(&answers);
        let (tell, asked) = unbounded();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (may_answer, tell) = (Arc::clone(&may_answer), tell.clone());
                thread::spawn(move || serve(stream, &may_answer, &tell));
            }
        });
        Self {
            url,
            answers,
            asked,
        }
    }
}

/// One request of a connection: it is read until nothing more comes for a moment, and answered or left.
fn serve(mut stream: TcpStream, may_answer: &AtomicBool, asked: &Sender<()>) {
    let mut request = Vec::new();
    let mut piece = [0; 65_536];
    while !is_whole(&request) {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(count) => request.extend_from_slice(&piece[..count]),
        }
    }
    let _ = asked.send(());
    if may_answer.load(Ordering::SeqCst) {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            ANSWER.len()
        );
        let _ = stream.write_all((head + ANSWER).as_bytes());
    } else {
        // Until the other side gives up.
        let _ = stream.read(&mut piece);
    }
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let lower = head.to_lowercase();
    let length = lower
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    length.is_none_or(|length| body.len() >= length.trim().parse().unwrap_or(0))
}

fn cli(test: &str) -> Option<PathBuf> {
    let path = std::env::var_os("MARVIN_TEST_COPILOT_CLI");
    if path.is_none() {
        let required = std::env::var_os("MARVIN_REQUIRE_COPILOT_CLI");
        assert!(
            required.is_none_or(|value| value != "1"),
            "MARVIN_TEST_COPILOT_CLI is not set"
        );
        eprintln!("SKIP {test}: MARVIN_TEST_COPILOT_CLI does not name the Copilot CLI");
    }
    path.map(PathBuf::from)
}

fn stage(cli: &Path, url: &str) -> CopilotStage {
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().join("copilot").display().to_string();
    let cache = std::env::temp_dir().join("marvin-copilot-cache");
    std::fs::create_dir_all(&cache).unwrap();
    let mut stage = CopilotStage::with(
        dir,
        cli,
        &[
            ("COPILOT_HOME", own.as_str()),
            ("XDG_CACHE_HOME", cache.to_str().unwrap()),
            ("MARVIN_COPILOT_BASE_URL", url),
            ("MARVIN_COPILOT_API_KEY", "own-key"),
        ],
    );
    stage.provider.handshake_timeout = LIMIT;
    stage.limit = LIMIT;
    stage
}

#[test]
fn a_server_that_hangs_costs_the_turn_and_the_next_has_a_new_session() {
    let Some(cli) = cli("a_server_that_hangs_costs_the_turn_and_the_next_has_a_new_session") else {
        return;
    };
    let server = SilentServer::start();
    let mut stage = stage(&cli, &server.url);
    stage.limit = Duration::from_secs(3);
    let since = Instant::now();
    let failure = stage.say("first").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Stalled, "{failure:?}");
    assert!(since.elapsed() < LIMIT);
    let told = failure.problem.one_line() + &stage.notices.concat();
    assert_has(&told, &["Response timed out after 3s. Rebuilding session."]);
    server.answers.store(true, Ordering::SeqCst);
    stage.limit = LIMIT;
    assert_eq!(stage.say("second").unwrap().text, "It is fine.");
}

#[test]
fn a_cancelled_turn_leaves_a_session_that_answers_the_next() {
    let Some(cli) = cli("a_cancelled_turn_leaves_a_session_that_answers_the_next") else {
        return;
    };
    let server = SilentServer::start();
    let mut stage = stage(&cli, &server.url);
    let stop = stage.stop.clone();
    let asked = server.asked.clone();
    let stopper = thread::spawn(move || {
        asked.recv_timeout(LIMIT).unwrap();
        stop.fire();
        Instant::now()
    });
    let failure = stage.say("first").unwrap_err();
    let late = stopper.join().unwrap().elapsed();
    assert_eq!(failure.kind, FailureKind::Cancelled, "{failure:?}");
    assert!(late < LIMIT / 2, "{late:?}");
    server.answers.store(true, Ordering::SeqCst);
    stage.stop = Cancel::new();
    assert_eq!(stage.say("second").unwrap().text, "It is fine.");
}

#[test]
fn a_server_that_is_not_there_is_told_after_the_clis_own_attempts() {
    let Some(cli) = cli("a_server_that_is_not_there_is_told_after_the_clis_own_attempts") else {
        return;
    };
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", free.local_addr().unwrap());
    drop(free);
    let mut stage = stage(&cli, &url);
    let failure = stage.say("first").unwrap_err();
    let told = failure.problem.one_line();
    assert!(told.starts_with("copilot: "), "{told}");
    assert!(!told.contains("own-key"), "{told}");
    assert!(told.contains(&url), "{told}");
}
