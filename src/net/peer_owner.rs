//! The owner of the process at the other end of a loopback connection.

use std::fs;
use std::net::{IpAddr, SocketAddr, TcpStream};

/// True when the other end belongs to the user that Marvin runs as. Only Linux tells; elsewhere every loopback connection counts as the user's own.
pub(crate) fn is_own(client: &TcpStream) -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let (Ok(theirs), Ok(ours)) = (client.peer_addr(), client.local_addr()) else {
        return false;
    };
    let user = rustix::process::geteuid().as_raw();
    ["/proc/self/net/tcp", "/proc/self/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .any(|table| owner(&table, theirs, ours) == Some(user))
}

/// The user id of the socket from `from` to `to` in a table of the kernel.
fn owner(table: &str, from: SocketAddr, to: SocketAddr) -> Option<u32> {
    let (from, to) = (ending(from), ending(to));
    table.lines().skip(1).find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let same = words.next()?.ends_with(&from) && words.next()?.ends_with(&to);
        words.nth(4).filter(|_| same)?.parse().ok()
    })
}

/// The end of an address in the table's format: words of four bytes. An IPv4 address mapped to IPv6 has more in front.
fn ending(place: SocketAddr) -> String {
    let word = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
    let ip: String = match place.ip() {
        IpAddr::V4(ip) => word(ip.octets()),
        IpAddr::V6(ip) => {
            let octets = ip.octets();
            let (words, _) = octets.as_chunks::<4>();
            words.iter().map(|bytes| word(*bytes)).collect()
        }
    };
    format!("{ip}:{:04X}", place.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn the_owner_is_found_by_both_ends() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                     \x20  0: 0100007F:0050 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 1\n\
                     \x20  1: 0000000000000000FFFF00000100007F:0051 0000000000000000FFFF00000100007F:1F90 01 0:0 0:0 0  1001 0 1\n";
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        if cfg!(target_endian = "little") {
            assert_eq!(owner(table, at(0x50), at(0x1f90)), Some(1000));
            assert_eq!(owner(table, at(0x51), at(0x1f90)), Some(1001));
        }
        assert_eq!(owner(table, at(0x50), at(0x1f91)), None);
        assert_eq!(owner(table, at(0x52), at(0x1f90)), None);
        assert_eq!(owner("", at(1), at(2)), None);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(is_own(&listener.accept().unwrap().0));
        if let Ok(listener) = TcpListener::bind("[::1]:0") {
            let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            assert!(is_own(&listener.accept().unwrap().0));
        }
    }
}
