//! The transport over standard input and output: one message a line, and nothing else.

use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::batch;
use super::client::Client;
use super::engine::Server;
use super::exchange::Outlet;
use super::methods::Lasting;
use super::subscription::watch_resources;
use super::work::Workers;
use crate::base::cancel::Cancel;
use crate::formats::json_lines::{MAX_LINE_IN, NextLine, next_line};
use crate::formats::json_rpc::{Incoming, RpcError, RpcId};

/// How long requests that are being worked on may go on after the end of input, and how long they may then take to stop.
const GRACE: Duration = Duration::from_secs(1);

/// Standard output, whole lines at a time.
struct Lines<W>(Mutex<W>);

impl<W: Write + Send> Outlet for Lines<W> {
    fn send(&self, mut message: String) {
        message.push('\n');
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A reader that is gone is noticed by its end of our input.
        let _ = output
            .write_all(message.as_bytes())
            .and_then(|()| output.flush());
    }
}

/// Serves the one client until its input ends or `stop` fires.
pub(crate) fn serve(
    server: Arc<Server>,
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
    stop: &Cancel,
) {
    let connection = Arc::new(Connection {
        server,
        client: Client::default(),
        lines: Arc::new(Lines(Mutex::new(output))),
        workers: Workers::default(),
        tells_of_changes: AtomicBool::new(false),
        all: stop.child().0,
    });
    let (ended, end) = crossbeam_channel::bounded(1);
    let stopped = ended.clone();
    let _stopped = stop.on_fire(move || {
        let _ = stopped.try_send(());
    });
    let reader = Arc::clone(&connection);
    thread::spawn(move || {
        // Whatever ends it, the server ends with it.
        let _ = catch_unwind(AssertUnwindSafe(|| reader.read(input)));
        let _ = ended.try_send(());
    });
    // Without a sender nothing more can come.
    let _ = end.recv();
    if !stop.is_fired() {
        connection.client.wait(false, GRACE);
    }
    connection.all.fire();
    connection.client.wait(true, GRACE);
}

struct Connection {
    server: Arc<Server>,
    client: Client,
    lines: Arc<dyn Outlet>,
    workers: Workers,
    /// It is being looked for changes.
    tells_of_changes: AtomicBool,
    /// Ends every request.
    all: Cancel,
}

impl Connection {
    fn read(self: &Arc<Self>, mut input: impl BufRead) {
        while let Ok(line) = next_line(&mut input, MAX_LINE_IN) {
            match line {
                NextLine::End => return,
                NextLine::TooLong => self.refuse(
                    &RpcId::Null,
                    RpcError::new(
                        RpcError::INVALID_REQUEST,
                        "The message is longer than 64 MiB.",
                    ),
                ),
                NextLine::Line(line) if line.trim_ascii().is_empty() => {}
                NextLine::Line(line) if self.batch(&line) => {}
                NextLine::Line(line) => match Incoming::read_versioned(&line) {
                    Ok(Incoming::Request { id, method, params }) => {
                        self.request((id, &method, params), line.len());
                    }
                    Ok(Incoming::Answer { id, result }) => {
                        self.client.peer.questions.answer(&id, result);
                    }
                    Ok(message) => {
                        if matches!(&message, Incoming::Notification { method, .. } if method == "notifications/initialized")
                        {
                            self.tell_of_changes();
                        }
                        self.client.notified(message);
                    }
                    Err(misread) => self.refuse(&misread.id, misread.error),
                },
            }
        }
    }

    /// Has a client with a handshake told of changes, which no request of it asks for.
    fn tell_of_changes(self: &Arc<Self>) {
        if self.tells_of_changes.swap(true, Ordering::Relaxed) {
            return;
        }
        let connection = Arc::clone(self);
        let watch = move || {
            watch_resources(
                connection.server.offering(),
                &connection.all,
                |has_changed| {
                    if has_changed {
                        let message = Incoming::notification(
                            "notifications/resources/list_changed",
                            &json!({}),
                        );
                        connection.lines.send(message);
                    }
                    true
                },
            );
        };
        // Without a thread the client sees changes when it asks.
        let _ = thread::Builder::new().spawn(watch);
    }

    /// Works on a line if it is a batch.
    fn batch(self: &Arc<Self>, line: &[u8]) -> bool {
        let Some(batch) = batch::read(&self.client, line) else {
            return false;
        };
        // The end of input waits for it.
        self.client.begun_batch();
        let connection = Arc::clone(self);
        let run = move || {
            let own = &*connection;
            let _answering = own.client.batch();
            let (server, outlet) = (&own.server, &own.lines);
            if let Some(answers) = batch::answered(server, &own.client, &batch, outlet, &own.all) {
                own.lines.send(answers);
            }
        };
        self.workers.run(line.len(), Box::new(run));
        true
    }

    fn refuse(&self, id: &RpcId, error: RpcError) {
        self.lines.send(Incoming::answer(id, &Err(error)));
    }

    fn request(self: &Arc<Self>, request: (RpcId, &str, Value), bytes: usize) {
        let id = request.0.clone();
        let outlet = Arc::clone(&self.lines);
        let admitted = match self.server.admit(&self.client, request, outlet, &self.all) {
            Ok(admitted) => admitted,
            Err(error) => return self.refuse(&id, error),
        };
        let (lasting, refused) = (admitted.method.lasting, id.clone());
        let connection = Arc::clone(self);
        let run = move || {
            let answer = connection.server.answer(&admitted);
            if let Some(_answering) = connection.client.answers(&id) {
                connection.lines.send(Incoming::answer(&id, &answer));
            }
        };
        match lasting {
            Lasting::Instant => run(),
            Lasting::Work => self.workers.run(bytes, Box::new(run)),
            Lasting::Open => {
                if thread::Builder::new().spawn(run).is_err() {
                    self.client.ended(&refused);
                    self.refuse(
                        &refused,
                        RpcError::new(RpcError::INTERNAL, "No thread is left."),
                    );
                }
            }
        }
    }
}
