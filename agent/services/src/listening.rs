//! Where processes of this network namespace accept connections.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// How `/proc/net/tcp` writes that a socket accepts connections.
const LISTENS: &str = "0A";
/// Named at most.
const MOST: usize = 8;

/// Where something listens, where none of it is what connections to an address reach.
pub fn elsewhere(wanted: SocketAddr) -> Option<String> {
    let read = |file| fs::read_to_string(file).unwrap_or_default();
    let tables = read("/proc/net/tcp") + &read("/proc/net/tcp6");
    // Without any line of the tables, nothing is known.
    if tables.is_empty() {
        return None;
    }
    said(wanted, &sockets(&tables))
}

fn said(wanted: SocketAddr, found: &BTreeSet<SocketAddr>) -> Option<String> {
    let reached = |one: &SocketAddr| {
        one.port() == wanted.port() && (one.ip() == wanted.ip() || one.ip().is_unspecified())
    };
    if found.iter().any(reached) {
        return None;
    }
    if found.is_empty() {
        return Some("nothing listens on any port".to_string());
    }
    let named: Vec<String> = found.iter().take(MOST).map(SocketAddr::to_string).collect();
    let more = if found.len() > MOST { " …" } else { "" };
    Some(format!("listening here: {}{more}", named.join(", ")))
}

fn sockets(tables: &str) -> BTreeSet<SocketAddr> {
    let listens = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let local = words.next()?;
        (words.nth(1)? == LISTENS).then(|| parsed(local)).flatten()
    };
    tables.lines().filter_map(listens).collect()
}

/// Reads an address as the kernel has it in memory, in words of 32 bits.
fn parsed(local: &str) -> Option<SocketAddr> {
    let (address, port) = local.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut octets = Vec::new();
    for at in (0..address.len()).step_by(8) {
        let word = u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?;
        octets.extend(word.to_ne_bytes());
    }
    let ip = match octets.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(octets).ok()?),
        16 => canonical(Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?)),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// What is one of IPv4 in IPv6 is written as such.
fn canonical(ip: Ipv6Addr) -> IpAddr {
    ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const HEAD: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr\n";

    fn table(rows: &[(IpAddr, u16, &str)]) -> String {
        let mut table = HEAD.to_string();
        for (ip, port, state) in rows {
            let octets = match ip {
                IpAddr::V4(ip) => ip.octets().to_vec(),
                IpAddr::V6(ip) => ip.octets().to_vec(),
            };
            let words: String = octets
                .chunks(4)
                .map(|four| format!("{:08X}", u32::from_ne_bytes(four.try_into().unwrap())))
                .collect();
            table += &format!("   0: {words}:{port:04X} 00000000:0000 {state} 00000000:00000000\n");
        }
        table
    }

    fn seen(rows: &[(IpAddr, u16, &str)]) -> Option<String> {
        said("10.0.0.1:8080".parse().unwrap(), &sockets(&table(rows)))
    }

    #[test]
    fn what_listens_elsewhere_is_named() {
        let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let v6 = IpAddr::V6(Ipv6Addr::LOCALHOST);
        let found = seen(&[(local, 8080, "0A"), (v6, 80, "0A"), (local, 9, "01")]);
        assert_eq!(
            found.as_deref(),
            Some("listening here: 127.0.0.1:8080, [::1]:80")
        );
        assert_eq!(seen(&[]).as_deref(), Some("nothing listens on any port"));
    }

    #[test]
    fn what_reaches_the_address_is_no_matter_of_where_it_listens() {
        let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let any6 = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        let itself = IpAddr::V6(Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped());
        for ip in [any, any6, itself] {
            assert_eq!(seen(&[(ip, 8080, "0A")]), None);
            assert!(seen(&[(ip, 8081, "0A")]).is_some());
        }
    }
}
