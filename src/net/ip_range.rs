//! An address range in CIDR notation: `10.0.0.0/8`.

use std::net::IpAddr;

/// An address and its prefix length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IpRange {
    base: IpAddr,
    bits: u32,
}

impl IpRange {
    /// Parses `10.0.0.0/8`, `fd00::/8` or `[fd00::]/8`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (base, bits) = text.split_once('/')?;
        let base: IpAddr = base.trim_matches(['[', ']']).parse().ok()?;
        let bits: u32 = bits.parse().ok()?;
        let max = if base.is_ipv4() { 32 } else { 128 };
        (bits <= max).then_some(Self { base, bits })
    }

    /// Whether the range contains the address; false for the other IP version.
    pub(super) fn contains(self, ip: IpAddr) -> bool {
        match (self.base, ip) {
            (IpAddr::V4(base), IpAddr::V4(ip)) => {
                (base.to_bits() ^ ip.to_bits()).leading_zeros() >= self.bits
            }
            (IpAddr::V6(base), IpAddr::V6(ip)) => {
                (base.to_bits() ^ ip.to_bits()).leading_zeros() >= self.bits
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_what_begins_like_it() {
        let holds = |range: &str, ip: &str| {
            IpRange::parse(range).is_some_and(|range| range.contains(ip.parse().unwrap()))
        };
        assert!(holds("10.0.0.0/8", "10.9.8.7") && !holds("10.0.0.0/8", "11.0.0.1"));
        assert!(holds("[fd00::]/8", "fd12::1") && !holds("fd00::/8", "fe80::1"));
        assert!(holds("0.0.0.0/0", "1.2.3.4") && !holds("0.0.0.0/0", "::1"));
        for wrong in [
            "10.0.0.0/33",
            "fd00::/129",
            "a b/c",
            "10.0.0.0",
            "10.0.0.0/-1",
        ] {
            assert_eq!(IpRange::parse(wrong), None, "{wrong}");
        }
    }
}
