//! A proxy that records its requests and tunnels or forwards to one address, whatever the host name: tests can use names that do not exist.

use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::server::{Reader, Request};

/// The running proxy.
pub struct Proxy {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
    ending: Arc<AtomicBool>,
}

impl Proxy {
    /// A proxy that lets every client through to `behind`.
    pub fn to(behind: SocketAddr) -> Self {
        Self::start(Ok(behind))
    }

    /// A proxy that answers everything with this status line and headers.
    pub fn refusing(answer: &'static str) -> Self {
        Self::start(Err(answer))
    }

    fn start(way: Result<SocketAddr, &'static str>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free loopback port");
        let address = listener.local_addr().expect("a bound listener");
        let proxy = Self {
            address,
            seen: Arc::default(),
            ending: Arc::default(),
        };
        let (seen, ending) = (Arc::clone(&proxy.seen), Arc::clone(&proxy.ending));
        thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                if ending.load(Ordering::SeqCst) {
                    return;
                }
                let seen = Arc::clone(&seen);
                thread::spawn(move || drop(serve(&socket, way, &seen)));
            }
        });
        proxy
    }

    /// `http://127.0.0.1:PORT`, with `who@` before the address when it is not empty.
    pub fn url(&self, who: &str) -> String {
        let at = if who.is_empty() { "" } else { "@" };
        format!("http://{who}{at}{}", self.address)
    }

    /// The requests so far.
    pub fn seen(&self) -> Vec<Request> {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
    }
}

fn serve(
    client: &TcpStream,
    way: Result<SocketAddr, &str>,
    seen: &Mutex<Vec<Request>>,
) -> io::Result<()> {
    let mut client_io = client;
    let Some(request) = Reader::new(client).next(0)? else {
        return Ok(());
    };
    seen.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(request.clone());
    let behind = match way {
        Ok(behind) => TcpStream::connect(behind)?,
        Err(answer) => {
            write!(client_io, "HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n")?;
            return client.shutdown(Shutdown::Write);
        }
    };
    if request.method == "CONNECT" {
        client_io.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    } else {
        (&behind).write_all(&forwarded(&request))?;
    }
    thread::scope(|scope| {
        scope.spawn(|| pass(client, &behind));
        pass(&behind, client);
    });
    Ok(())
}

/// The request for the server: with only the path in the first line, and without the proxy's headers.
fn forwarded(request: &Request) -> Vec<u8> {
    let bare = request
        .path
        .strip_prefix("http://")
        .and_then(|rest| rest.find('/').map(|at| &rest[at..]));
    let mut head = format!(
        "{} {} HTTP/1.1\r\n",
        request.method,
        bare.expect("a whole address")
    );
    for (name, value) in &request.headers {
        if !name.to_ascii_lowercase().starts_with("proxy-") {
            head += &format!("{name}: {value}\r\n");
        }
    }
    [head.as_bytes(), b"\r\n", &request.body].concat()
}

/// Copies one direction and passes its end on.
fn pass(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
