//! Connections to a server that speaks no HTTP and that the user named: every address of it is tried, within a limit that a token can end.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::bounded;

use crate::base::cancel::Cancel;
use crate::base::problem::io_words;

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConnectError {
    Cancelled,
    TimedOut,
    /// The name has no address, and the system's reason.
    UnknownHost(String),
    /// No address accepts connections, and the system's reason.
    Refused(String),
}

/// Connects to the first address of `host` that accepts. A name of this machine's loopback stands for its IPv4 and its IPv6 address: which one a server
/// binds to depends on the system.
pub(crate) fn connect(
    host: &str,
    port: u16,
    limit: Duration,
    stop: &Cancel,
) -> Result<TcpStream, ConnectError> {
    if stop.is_fired() {
        return Err(ConnectError::Cancelled);
    }
    let until = Instant::now() + limit;
    let (tell, told) = bounded(2);
    let (answer, host) = (tell.clone(), host.to_owned());
    // Neither a lookup nor a connect can be interrupted, only abandoned.
    thread::Builder::new()
        .name("connect".to_owned())
        .spawn(move || {
            let _ = answer.try_send(first_open(&host, port, until));
        })
        .map_err(|error| ConnectError::Refused(io_words(&error)))?;
    let _closer = stop.on_fire(move || {
        let _ = tell.try_send(Err(ConnectError::Cancelled));
    });
    let outcome = told.recv_timeout(limit);
    outcome.unwrap_or(Err(ConnectError::TimedOut))
}

fn first_open(host: &str, port: u16, until: Instant) -> Result<TcpStream, ConnectError> {
    let addresses =
        addresses(host, port).map_err(|error| ConnectError::UnknownHost(io_words(&error)))?;
    let mut refusal = ConnectError::UnknownHost("it has no address".to_owned());
    for (index, address) in addresses.into_iter().enumerate() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ConnectError::TimedOut);
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                return Err(ConnectError::TimedOut);
            }
            // The first address is the one that was named: its reason says more than that of a missing IPv6.
            Err(error) if index == 0 => refusal = ConnectError::Refused(io_words(&error)),
            Err(_) => {}
        }
    }
    Err(refusal)
}

fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let both: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let ips = match host.parse::<IpAddr>() {
        Ok(ip) if ip == both[1] => vec![both[1], both[0]],
        Ok(ip) if ip == both[0] => both.to_vec(),
        Ok(ip) => vec![ip],
        Err(_) if host.eq_ignore_ascii_case("localhost") => both.to_vec(),
        Err(_) => return Ok((host, port).to_socket_addrs()?.collect()),
    };
    Ok(ips.into_iter().map(|ip| (ip, port).into()).collect())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    fn tries(host: &str) -> Vec<String> {
        let addresses = addresses(host, 9).unwrap();
        addresses.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_loopback_name_stands_for_both_loopback_addresses() {
        let (four, six) = ("127.0.0.1:9", "[::1]:9");
        assert_eq!(tries("127.0.0.1"), [four, six]);
        assert_eq!(tries("LocalHost"), [four, six]);
        assert_eq!(tries("::1"), [six, four]);
        assert_eq!(tries("[::1]"), [six, four]);
        assert_eq!(tries("127.0.0.2"), ["127.0.0.2:9"]);
        assert_eq!(tries("192.0.2.7"), ["192.0.2.7:9"]);
    }

    #[test]
    fn a_server_is_found_at_either_loopback_address() {
        for bound in ["127.0.0.1", "::1"] {
            let Ok(listener) = TcpListener::bind((bound, 0)) else {
                // A machine without IPv6.
                continue;
            };
            let address = listener.local_addr().unwrap();
            for host in ["127.0.0.1", "localhost", "::1"] {
                let stream = connect(host, address.port(), LIMIT, &Cancel::new()).unwrap();
                let other = stream.peer_addr().unwrap();
                // Another process may listen at the same port of the other address.
                let is_ours = other == address && listener.accept().is_ok();
                assert!(is_ours || TcpListener::bind(other).is_err(), "{host}");
            }
        }
    }

    #[test]
    fn a_closed_port_an_unknown_name_and_a_fired_token_are_told_apart() {
        let closed = {
            let listener = TcpListener::bind(("127.0.0.2", 0)).unwrap();
            listener.local_addr().unwrap().port()
        };
        let outcome = connect("127.0.0.2", closed, LIMIT, &Cancel::new());
        let expected = ConnectError::Refused("connection refused".to_owned());
        assert_eq!(outcome.unwrap_err(), expected);
        // The name is longer than a name can be, so no server is asked.
        let outcome = connect(&"x".repeat(300), 9, LIMIT, &Cancel::new());
        assert!(matches!(outcome, Err(ConnectError::UnknownHost(_))));
        let stop = Cancel::new();
        stop.fire();
        let outcome = connect("127.0.0.1", closed, LIMIT, &stop);
        assert_eq!(outcome.unwrap_err(), ConnectError::Cancelled);
    }
}
