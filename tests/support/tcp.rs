//! Plain sockets: a client that speaks HTTP by hand, and an address at which connecting never ends.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{
    IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream,
};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};

/// A bare connection with a limit on each read, so that no test can hang on it.
pub struct Client {
    reader: BufReader<TcpStream>,
}

impl Client {
    /// Connects, without any proxy.
    pub fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).expect("a connection");
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .expect("a read limit");
        Self {
            reader: BufReader::new(socket),
        }
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// Sends a request with a `Content-Length`.
    pub fn request(&mut self, method: &str, path: &str, body: &str) {
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.send(text.as_bytes()).expect("a request sent");
    }

    /// Reads a line, without its end.
    pub fn line(&mut self) -> std::io::Result<String> {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
    }

    /// Reads up to the end of the headers.
    pub fn head(&mut self) -> std::io::Result<String> {
        let mut head = String::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok(head);
            }
            head += &line;
            head.push('\n');
        }
    }

    /// Reads everything up to the close.
    pub fn rest(&mut self) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.reader.read_to_end(&mut bytes).map(|_| bytes)
    }
}

/// A listener whose queue is full and that accepts nobody: connecting to it hangs.
pub struct Tarpit {
    address: SocketAddr,
    _listener: OwnedFd,
    _fillers: Vec<TcpStream>,
}

impl Tarpit {
    /// Fills the queue until a connection attempt is left hanging.
    pub fn start() -> Self {
        let listener = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        listen(&listener, 0).expect("a listening socket");
        let address = getsockname(&listener).expect("a bound socket");
        let address: SocketAddr = SocketAddr::try_from(address).expect("an IPv4 address");
        let mut fillers = Vec::new();
        while let Ok(filler) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            fillers.push(filler);
            assert!(fillers.len() < 64, "the queue of {address} does not fill");
        }
        Self {
            address,
            _listener: listener,
            _fillers: fillers,
        }
    }

    /// Where connecting hangs.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT` followed by `path`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// An address that this test alone has and at which nobody listens: connecting is refused as long as this lives.
pub struct Reserved {
    address: SocketAddr,
    socket: OwnedFd,
}

impl Reserved {
    /// Reserves `address`; port 0 means a free one.
    ///
    /// # Errors
    /// The address is in use, or this machine has no such address.
    pub fn new(address: SocketAddr) -> std::io::Result<Self> {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        // Bound and never listening.
        let socket = socket(family, SocketType::STREAM, None)?;
        bind(&socket, &address)?;
        let address = SocketAddr::try_from(getsockname(&socket)?)?;
        Ok(Self { address, socket })
    }

    /// The same port of the other loopback address; `None` where this machine has no other, an error where somebody uses it.
    pub fn beside(address: SocketAddr) -> std::io::Result<Option<Self>> {
        let other: IpAddr = match address {
            SocketAddr::V4(_) => Ipv6Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv4Addr::LOCALHOST.into(),
        };
        match Self::new((other, address.port()).into()) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => Err(error),
            reserved => Ok(reserved.ok()),
        }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// From now on somebody listens: every connection is passed on to `to`, on threads that end with the process of the test.
    pub fn open(self, to: SocketAddr) {
        listen(&self.socket, 64).expect("a listening socket");
        let listener = TcpListener::from(self.socket);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(to).expect("the server behind");
                let copies = [&client, &server].map(|socket| socket.try_clone().expect("a copy"));
                let [of_client, of_server] = copies;
                thread::spawn(move || pass_on(of_client, server));
                thread::spawn(move || pass_on(of_server, client));
            }
        });
    }
}

/// Copies what comes to the other side, up to the end.
fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

/// A port of both loopback addresses at which nobody listens.
pub fn closed_port() -> (u16, [Option<Reserved>; 2]) {
    loop {
        let one = Reserved::new((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
        if let Ok(other) = Reserved::beside(one.address) {
            return (one.port(), [Some(one), other]);
        }
    }
}

/// An address of this machine at which nothing listens: connecting fails at once.
pub fn refused() -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("a bound listener")
}
