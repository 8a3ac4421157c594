//! Refused address ranges: a table for IPv4; for IPv6 everything that is not clearly the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 networks outside the public internet: IANA's registry of special-purpose addresses, and what clouds use.
const V4: &[([u8; 4], u32, &str)] = &[
    ([0, 0, 0, 0], 8, "this machine"),
    ([10, 0, 0, 0], 8, "a private network"),
    ([100, 64, 0, 0], 10, "a provider's inner network"),
    ([127, 0, 0, 0], 8, "this machine"),
    ([168, 63, 129, 16], 32, "a cloud's metadata service"),
    ([169, 254, 169, 254], 32, "a cloud's metadata service"),
    ([169, 254, 0, 0], 16, "the local link"),
    ([172, 16, 0, 0], 12, "a private network"),
    ([192, 0, 0, 0], 24, "a special network"),
    ([192, 0, 2, 0], 24, "an example in documents"),
    ([192, 88, 99, 0], 24, "a tunnel"),
    ([192, 168, 0, 0], 16, "a private network"),
    ([198, 18, 0, 0], 15, "a test network"),
    ([198, 51, 100, 0], 24, "an example in documents"),
    ([203, 0, 113, 0], 24, "an example in documents"),
    ([224, 0, 0, 0], 4, "a multicast group"),
    ([240, 0, 0, 0], 4, "a reserved network"),
];

/// Parts of 2000::/3 that are not public either: first 32 bits, prefix length, description.
const V6: &[(u32, u32, &str)] = &[
    (0x2001_0000, 32, "a tunnel"), // Teredo
    (0x2001_0002, 32, "a test network"),
    (0x2001_0010, 28, "a special network"),
    (0x2001_0020, 28, "a special network"),
    (0x2001_0db8, 32, "an example in documents"),
    (0x2002_0000, 16, "a tunnel"), // 6to4
    (0x3fff_0000, 20, "an example in documents"),
];

/// The description of the range of an address that is not public.
pub(super) fn private(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(ip) => v4(ip),
        IpAddr::V6(ip) => v6(ip),
    }
}

fn v4(ip: Ipv4Addr) -> Option<&'static str> {
    let found = V4
        .iter()
        .find(|(base, bits, _)| same(u32::from_be_bytes(*base), ip.to_bits(), *bits));
    found.map(|(_, _, what)| *what)
}

fn v6(ip: Ipv6Addr) -> Option<&'static str> {
    let [a, b, c, d, e, f, ..] = ip.segments();
    let tail = Ipv4Addr::from_bits(u32::try_from(ip.to_bits() & 0xffff_ffff).unwrap_or_default());
    if ip.is_loopback() || ip.is_unspecified() {
        return Some("this machine");
    }
    // IPv4 addresses embedded in IPv6, which a translator at the border of the network would unwrap.
    if ip.to_ipv4_mapped().is_some() || [a, b, c, d, e, f] == [0x64, 0xff9b, 0, 0, 0, 0] {
        return v4(tail);
    }
    if a & 0xe000 != 0x2000 {
        return Some(match a {
            0xfc00..=0xfdff => "a private network",
            0xfe80..=0xfebf => "the local link",
            0xff00..=0xffff => "a multicast group",
            _ => "no public address",
        });
    }
    // An interface identifier that contains an IPv4 address (ISATAP).
    if e & !0x0300 == 0 && f == 0x5efe {
        return Some("a tunnel");
    }
    let first = u32::from(a) << 16 | u32::from(b);
    let found = V6.iter().find(|(base, bits, _)| same(*base, first, *bits));
    found.map(|(_, _, what)| *what)
}

fn same(a: u32, b: u32, bits: u32) -> bool {
    (a ^ b).leading_zeros() >= bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_public_is_known_in_every_form() {
        for text in
            "0.0.0.0 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 \
            127.255.255.254 169.254.169.254 168.63.129.16 172.16.0.1 172.31.255.255 192.0.0.192 \
            192.168.0.1 198.18.0.1 198.19.255.255 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 \
            :: ::1 ::7f00:1 ::10.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:0:127.0.0.1 \
            64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::808:808 2002:7f00:1:: 2002:808:808::1 \
            2001:0:1:2::3 2001:db8::1 2001:10::1 2001:2f::1 3fff::1 fc00::1 fd00:ec2::254 \
            fe80::1 fec0::1 ff02::1 100::1 5f00::1 2606:4700::5efe:a00:1 \
            2606:4700::200:5efe:a00:1"
                .split_ascii_whitespace()
        {
            assert!(private(text.parse().unwrap()).is_some(), "{text}");
        }
        for text in "1.1.1.1 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.0.0.1 128.0.0.1 \
            169.253.1.1 172.15.0.1 172.32.0.1 192.167.1.1 192.169.1.1 198.17.1.1 198.20.1.1 \
            223.255.255.255 2606:4700::1111 2001:4860:4860::8888 ::ffff:1.1.1.1 64:ff9b::101:101 \
            2a00::1"
            .split_ascii_whitespace()
        {
            assert_eq!(private(text.parse().unwrap()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_private_ipv4_address_stays_private_in_ipv6_clothes(bits: u32, prefix in 0usize..6) {
            let ip = Ipv4Addr::from_bits(bits);
            let bits = u128::from(bits);
            let dressed = match prefix {
                0 => 0xffff << 32 | bits,
                1 => bits,
                2 => 0x0064_ff9b_u128 << 96 | bits,
                3 => 0x2002_u128 << 112 | bits << 80,
                4 => 0x2001_0000_u128 << 96 | bits << 64 | (!bits & 0xffff_ffff),
                _ => 0x2606_4700_u128 << 96 | 0x5efe << 32 | bits,
            };
            let dressed = Ipv6Addr::from_bits(dressed);
            if v4(ip).is_some() {
                prop_assert!(v6(dressed).is_some(), "{dressed}");
            }
        }

        #[test]
        fn the_standard_library_knows_none_that_passes(bits: u32, wide: u128) {
            let ip = Ipv4Addr::from_bits(bits);
            if ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_multicast()
                || ip.is_broadcast() || ip.is_documentation() || ip.is_unspecified() {
                prop_assert!(v4(ip).is_some(), "{ip}");
            }
            let ip = Ipv6Addr::from_bits(wide);
            if ip.is_loopback() || ip.is_multicast() || ip.is_unique_local() || ip.is_unicast_link_local() {
                prop_assert!(v6(ip).is_some(), "{ip}");
            }
        }
    }
}
