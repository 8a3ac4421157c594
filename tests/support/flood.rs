//! A server that answers one request and then repeats a piece up to a limit, or until the client closes the connection.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::thread::{self, JoinHandle};

/// The running flood.
pub struct Flood {
    address: SocketAddr,
    sent: JoinHandle<u64>,
}

impl Flood {
    /// Answers with `head` (status line, headers, the start of the body) and then repeats `piece` until `limit` bytes are sent.
    pub fn start(head: String, piece: Vec<u8>, limit: u64) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free loopback port");
        let address = listener.local_addr().expect("a bound listener");
        let sent = thread::spawn(move || {
            let (mut socket, _) = listener.accept().expect("a client");
            let mut drain = socket.try_clone().expect("a second handle");
            // The content of the request does not matter, but unread bytes would turn the close into a reset.
            thread::spawn(move || {
                let mut buffer = vec![0; 64 * 1024];
                while drain.read(&mut buffer).is_ok_and(|count| count > 0) {}
            });
            let mut sent = 0;
            if socket.write_all(head.as_bytes()).is_err() {
                return sent;
            }
            while sent < limit && socket.write_all(&piece).is_ok() {
                sent += piece.len() as u64;
            }
            let _ = socket.shutdown(Shutdown::Write);
            sent
        });
        Self { address, sent }
    }

    /// `http://127.0.0.1:PORT` followed by `path`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// How many bytes of the pieces the client let through.
    pub fn sent(self) -> u64 {
        self.sent.join().expect("a flood that ends")
    }
}
