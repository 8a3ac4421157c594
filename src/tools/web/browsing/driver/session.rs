//! One WebDriver session: its requests as JSON over loopback HTTP, and the meaning of their answers.

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

/// Bytes of an answer at most.
const MAX_ANSWER_BYTES: usize = 32 << 20;
/// Until a driver is ready, and a browser has started.
const READY: Duration = Duration::from_secs(5);
const START: Duration = Duration::from_secs(25);
/// Between two looks at a driver that is not ready.
const READY_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Overhead of a driver beyond its own timeout.
const SLACK: Duration = Duration::from_secs(5);
/// For the end of a session.
const END: Duration = Duration::from_secs(3);

/// How a request failed.
#[derive(Debug)]
pub(in super::super) enum DriverError {
    /// The driver reported an error: its code, and the first line of its message.
    Said(String, String),
    /// Something else.
    Problem(Problem),
}

impl DriverError {
    /// As a problem.
    pub(in super::super) fn problem(self) -> Problem {
        match self {
            Self::Said(error, message) if message.is_empty() || message == error => {
                Problem::network(format!("The browser says: {error}."))
            }
            Self::Said(error, message) if message.starts_with(&error) => Problem::network(format!(
                "The browser says: {}.",
                message.trim_end_matches('.')
            )),
            Self::Said(error, message) => Problem::network(format!(
                "The browser says: {error}: {}.",
                message.trim_end_matches('.')
            )),
            Self::Problem(problem) => problem,
        }
    }

    /// True when the driver named this error.
    pub(in super::super) fn is(&self, error: &str) -> bool {
        matches!(self, Self::Said(own, _) if own == error)
    }
}

impl From<Problem> for DriverError {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// A session; dropping it ends it, unless the call was stopped: then its process is killed.
pub(in super::super) struct WebDriverSession {
    base: String,
    id: String,
    patience: DriverTimeouts,
    stop: Cancel,
}

impl WebDriverSession {
    /// Opens a session whose browser is led through `gateway`.
    ///
    /// # Errors
    /// The driver is not ready, or its browser does not start; `Cancelled`.
    pub(in super::super) fn open(
        process: &Process,
        pair: &DriverPair,
        gateway: SocketAddr,
        patience: DriverTimeouts,
        stop: &Cancel,
    ) -> Result<Self, DriverError> {
        let mut session = Self {
            base: format!("http://127.0.0.1:{}", process.port),
            id: String::new(),
            patience,
            stop: stop.clone(),
        };
        session.wait()?;
        let wanted = capabilities(pair, gateway, patience);
        let value = session.post("/session", &wanted, START)?;
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
    /// `timeout` when that takes too long; what came so far can be read all the same.
    pub(in super::super) fn go(&self, url: &str) -> Result<(), DriverError> {
        let limit = self.patience.load + SLACK;
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
        let limit = self.patience.script + SLACK;
        let body = json!({"script": script, "args": args});
        self.post(&self.own("/execute/sync"), &body, limit)
    }

    /// Where the page came from at last.
    ///
    /// # Errors
    /// The session is gone.
    pub(in super::super) fn place(&self) -> Result<String, DriverError> {
        self.get(&self.own("/url"))
    }

    /// The page as HTML, as it is by now.
    ///
    /// # Errors
    /// The session is gone.
    pub(in super::super) fn source(&self) -> Result<String, DriverError> {
        self.get(&self.own("/source"))
    }

    fn get(&self, path: &str) -> Result<String, DriverError> {
        let url = format!("{}{path}", self.base);
        let answer = client(self.patience.script + SLACK).get(&url, &[], &self.stop);
        let value = value(answer.map_err(DriverError::net)?)?;
        Ok(value.as_str().unwrap_or_default().to_owned())
    }

    fn own(&self, path: &str) -> String {
        format!("/session/{}{path}", self.id)
    }

    /// Waits until the driver is ready.
    fn wait(&self) -> Result<(), DriverError> {
        let begun = Instant::now();
        loop {
            let client = client(READY);
            let answer = client.get(&format!("{}/status", self.base), &[], &self.stop);
            let ready = answer.map_err(DriverError::net).and_then(value);
            let failed = match ready {
                Ok(value) if value.get("ready") != Some(&Value::Bool(false)) => return Ok(()),
                Ok(_) => Problem::network("The driver is not ready for a session.").into(),
                Err(failed) => failed,
            };
            if begun.elapsed() > READY || !self.stop.sleep(READY_POLL_INTERVAL) {
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
        if let Ok(mut response) = client(END).delete(&url, &self.stop) {
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

/// The value of an answer.
fn value(mut response: Response) -> Result<Value, DriverError> {
    let status = response.status;
    let bytes =
        body(&mut response, MAX_ANSWER_BYTES).map_err(|why| why.problem("The browser's driver"))?;
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
    // Every failure has an error status; an object of the page with such a key is not one.
    if status >= 400 {
        let error = word("error");
        let error = if error.is_empty() {
            format!("status {status}")
        } else {
            error
        };
        return Err(DriverError::Said(error, word("message")));
    }
    Ok(value)
}
