//! A TLS front for the scripted server: a private authority, a certificate for loopback and `provider.test`, and a relay.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use rustix::event::{PollFd, PollFlags, poll};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection};

use super::server::Server;

/// A TLS server that hands everything on to a plain one.
pub struct TlsFace {
    address: SocketAddr,
    ending: Arc<AtomicBool>,
}

impl TlsFace {
    /// A TLS front for this server; it ends with the test.
    pub fn before(server: &Server) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free loopback port");
        let address = listener.local_addr().expect("a bound listener");
        let ending = Arc::new(AtomicBool::new(false));
        let (over, behind) = (Arc::clone(&ending), server.address());
        thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                // A client that refuses the certificate ends only its own connection.
                thread::spawn(move || drop(relay(&socket, behind)));
            }
        });
        Self { address, ending }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https://127.0.0.1:PORT` followed by `path`.
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }
}

impl Drop for TlsFace {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
    }
}

struct Papers {
    authority: String,
    config: Arc<ServerConfig>,
}

/// The certificate (PEM) of the authority that signed the certificate of every TLS front.
pub fn authority() -> &'static str {
    &papers().authority
}

/// The certificate (PEM) of an authority that has signed nothing.
pub fn stranger() -> String {
    issuer().pem()
}

fn issuer() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let key = KeyPair::generate().expect("a key");
    CertifiedIssuer::self_signed(params, key).expect("an authority")
}

fn papers() -> &'static Papers {
    static PAPERS: OnceLock<Papers> = OnceLock::new();
    PAPERS.get_or_init(|| {
        let issuer = issuer();
        let key = KeyPair::generate().expect("a key");
        let names = ["localhost", "127.0.0.1", "provider.test"].map(str::to_owned);
        let leaf = CertificateParams::new(names)
            .and_then(|params| params.signed_by(&key, &issuer))
            .expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("protocol versions")
            .with_no_client_auth()
            .with_single_cert(
                vec![leaf.der().clone()],
                PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            )
            .expect("a certificate that fits its key");
        Papers {
            authority: issuer.pem(),
            config: Arc::new(config),
        }
    })
}

/// Passes bytes on as they come, in both directions, until either side ends.
fn relay(client: &TcpStream, behind: SocketAddr) -> io::Result<()> {
    let mut tls = ServerConnection::new(Arc::clone(&papers().config)).map_err(io::Error::other)?;
    client.set_nodelay(true)?;
    let mut client_io = client;
    tls.complete_io(&mut client_io)?;
    let mut plain = TcpStream::connect(behind)?;
    plain.set_nodelay(true)?;
    let mut buffer = vec![0; 16 * 1024];
    loop {
        // Data that arrived together with the end of the handshake is passed on before waiting for more.
        loop {
            match tls.reader().read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => plain.write_all(&buffer[..count])?,
                Err(reason) if reason.kind() == io::ErrorKind::WouldBlock => break,
                Err(reason) => return Err(reason),
            }
        }
        let mut both = [
            PollFd::new(client, PollFlags::IN),
            PollFd::new(&plain, PollFlags::IN),
        ];
        poll(&mut both, None)?;
        let ready = both.map(|fd| !fd.revents().is_empty());
        if ready[0] {
            if tls.read_tls(&mut client_io)? == 0 {
                return Ok(());
            }
            tls.process_new_packets().map_err(io::Error::other)?;
        }
        if ready[1] {
            let count = plain.read(&mut buffer)?;
            if count == 0 {
                tls.send_close_notify();
            } else {
                tls.writer().write_all(&buffer[..count])?;
            }
            if count == 0 {
                while tls.wants_write() {
                    tls.write_tls(&mut client_io)?;
                }
                return client.shutdown(Shutdown::Write);
            }
        }
        while tls.wants_write() {
            tls.write_tls(&mut client_io)?;
        }
    }
}
