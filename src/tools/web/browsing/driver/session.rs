//! One WebDriver session: its requests as JSON over loopback HTTP, and the responses.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::options::capabilities;
use super::{DriverPair, DriverTimeouts, Process};
use crate::base::cancel::Cancel;
use crate::base::problem::Problem;
use crate::base::text::{clip, escape_controls};
use crate::net::error::NetError;
use crate::net::http::{Client, ClientOptions, Response, Timeouts};
use crate::net::proxies::ProxyRoute;
use crate::net::service::body;

/// Maximum size of a response.
const MAX_ANSWER_BYTES: usize = 32 << 20;
/// How long to wait until a driver is ready and a browser has started.
const READY_TIMEOUT: Duration = Duration::from_secs(5);
const START_TIMEOUT: Duration = Duration::from_secs(25);
/// Interval between two status requests to a driver that is not ready.
const READY_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Overhead of a driver beyond its own timeout.
const TIMEOUT_SLACK: Duration = Duration::from_secs(5);
/// Time limit for ending a session.
const END_TIMEOUT: Duration = Duration::from_secs(3);

/// How a request failed.
pub(in super::super) enum DriverError {
    /// The driver reported an error: its code, and the first line of its message.
    Reported(String, String),
    /// Something else.
    Problem(Problem),
}

impl DriverError {
    pub(in super::super) fn problem(self) -> Problem {
        match self {
            Self::Reported(error, message) if message.is_empty() || message == error => {
                Problem::network(format!("The browser says: {error}."))
            }
            Self::Reported(error, message) if message.starts_with(&error) => Problem::network(
                format!("The browser says: {}.", message.trim_end_matches('.')),
            ),
            Self::Reported(error, message) => Problem::network(format!(
                "The browser says: {error}: {}.",
                message.trim_end_matches('.')
            )),
            Self::Problem(problem) => problem,
        }
    }

    /// True when the driver named this error.
    pub(in super::super) fn is(&self, error: &str) -> bool {
        matches!(self, Self::Reported(own, _) if own == error)
    }
}

impl From<Problem> for DriverError {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// A session; dropping it ends it, unless the call was cancelled: then its process is killed.
pub(in super::super) struct WebDriverSession {
    base: String,
    id: String,
    timeouts: DriverTimeouts,
    stop: Cancel,
}

impl WebDriverSession {
    /// Opens a session whose browser goes through `gateway`.
    ///
    /// # Errors
    /// The driver is not ready, or its browser does not start; `Cancelled`.
    pub(in super::super) fn open(
        process: &Process,
        pair: &DriverPair,
        gateway: SocketAddr,
        timeouts: DriverTimeouts,
        stop: &Cancel,
    ) -> Result<Self, DriverError> {
        let mut session = Self {
            base: format!("http://127.0.0.1:{}", process.port),
            id: String::new(),
            timeouts,
            stop: stop.clone(),
        };
        session.wait()?;
        let wanted = capabilities(pair, gateway, timeouts);
        let value = session.post("/session", &wanted, START_TIMEOUT)?;
        let id = value
            .get("sessionId")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if id.is_empty() || !id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(Problem::network("The driver opened a session without an id.").into());
        }
        id.clone_into(&mut session.id);
        Ok(session)
    }

    /// Goes to `url` and waits until it has loaded.
    ///
    /// # Errors
    /// `timeout` when that takes too long; what has loaded so far can still be read.
    pub(in super::super) fn go(&self, url: &str) -> Result<(), DriverError> {
        let limit = self.timeouts.load + TIMEOUT_SLACK;
        self.post(&self.own("/url"), &json!({"url": url}), limit)
            .map(drop)
    }

    /// Runs `script` in the page and returns what it returns.
    ///
    /// # Errors
    /// The script failed, or took too long.
    pub(in super::super) fn script(
        &self,
        script: &str,
        args: &Value,
    ) -> Result<Value, DriverError> {
        let limit = self.timeouts.script + TIMEOUT_SLACK;
        let body = json!({"script": script, "args": args});
        self.post(&self.own("/execute/sync"), &body, limit)
    }

    /// The final address of the page.
    ///
    /// # Errors
    /// The session is gone.
    pub(in super::super) fn current_url(&self) -> Result<String, DriverError> {
        self.get(&self.own("/url"))
    }

    /// The page as HTML, in its current state.
    ///
    /// # Errors
    /// The session is gone.
    pub(in super::super) fn source(&self) -> Result<String, DriverError> {
        self.get(&self.own("/source"))
    }

    fn get(&self, path: &str) -> Result<String, DriverError> {
        let url = format!("{}{path}", self.base);
        let answer = client(self.timeouts.script + TIMEOUT_SLACK).get(&url, &[], &self.stop);
        let value = value(answer.map_err(DriverError::net)?)?;
        Ok(value.as_str().unwrap_or_default().to_owned())
    }

    fn own(&self, path: &str) -> String {
        format!("/session/{}{path}", self.id)
    }

    /// Waits until the driver is ready.
    fn wait(&self) -> Result<(), DriverError> {
        let start = Instant::now();
        loop {
            let client = client(READY_TIMEOUT);
            let answer = client.get(&format!("{}/status", self.base), &[], &self.stop);
            let ready = answer.map_err(DriverError::net).and_then(value);
            let failed = match ready {
                Ok(value) if value.get("ready") != Some(&Value::Bool(false)) => return Ok(()),
                Ok(_) => Problem::network("The driver is not ready for a session.").into(),
                Err(failed) => failed,
            };
            if start.elapsed() > READY_TIMEOUT || !self.stop.sleep(READY_POLL_INTERVAL) {
                self.stop.check()?;
                return Err(failed);
            }
        }
    }

    fn post(&self, path: &str, body: &Value, limit: Duration) -> Result<Value, DriverError> {
        let url = format!("{}{path}", self.base);
        let body = body.to_string();
        let answer = client(limit).post(&url, &[], body.as_bytes(), &self.stop);
        value(answer.map_err(DriverError::net)?)
    }
}

impl Drop for WebDriverSession {
    fn drop(&mut self) {
        if self.id.is_empty() || self.stop.is_fired() {
            return;
        }
        let url = format!("{}{}", self.base, self.own(""));
        if let Ok(mut response) = client(END_TIMEOUT).delete(&url, &[], &self.stop) {
            let _ = response.read_some(1024);
        }
    }
}

impl DriverError {
    fn net(error: NetError) -> Self {
        Self::Problem(error.problem("The browser's driver"))
    }
}

fn client(limit: Duration) -> Client {
    Client::new(ClientOptions {
        limits: Timeouts {
            connect: Duration::from_secs(2),
            first_byte: limit,
            silence: limit,
        },
        agent: "Marvin".to_owned(),
        // Loopback, regardless of proxies.
        route: ProxyRoute::default(),
    })
}

fn value(mut response: Response) -> Result<Value, DriverError> {
    let status = response.status;
    let bytes = body(&mut response, MAX_ANSWER_BYTES)
        .map_err(|cause| cause.problem("The browser's driver"))?;
    let mut answer: Value = serde_json::from_slice(&bytes).map_err(|_| {
        // Unknown paths are reported as plain text.
        let said = String::from_utf8_lossy(&bytes).into_owned();
        Problem::network(format!(
            "The browser's driver answered {status} with something that is not JSON: {}",
            clip(&escape_controls(said.trim()), 200)
        ))
    })?;
    let value = answer.get_mut("value").map(Value::take).unwrap_or_default();
    let word = |key: &str| {
        let text = value.get(key).and_then(Value::as_str).unwrap_or_default();
        clip(
            &escape_controls(text.lines().next().unwrap_or_default()),
            300,
        )
    };
    // Every failure has an error status; an object from the page with such a key is not a failure.
    if status >= 400 {
        let error = word("error");
        let error = if error.is_empty() {
            format!("status {status}")
        } else {
            error
        };
        return Err(DriverError::Reported(error, word("message")));
    }
    Ok(value)
}
