//! What is known of an end that a measurement may depend on. What cannot be read is left out.

mod interface;

use std::fs;
use std::io;
use std::net::TcpStream;

use crate::measure::tcp;
use crate::record::network::EndFact;

/// Of this end, as seen from one of its connections.
pub fn of(stream: &TcpStream) -> Vec<EndFact> {
    let mut facts = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            facts.push(EndFact {
                name: name.to_string(),
                value,
            });
        }
    };
    let line = |path: &str| {
        let text = fs::read_to_string(path).ok()?;
        Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    add("agent", Some(env!("CARGO_PKG_VERSION").to_string()));
    add("kernel", line("/proc/sys/kernel/osrelease"));
    let cpus = std::thread::available_parallelism();
    add("cpus", cpus.ok().map(|cpus| cpus.to_string()));
    add("congestion", tcp::control_congestion(stream, None).ok());
    for name in ["tcp_wmem", "tcp_rmem"] {
        add(name, line(&format!("/proc/sys/net/ipv4/{name}")));
    }
    if let Some(interface) = stream
        .peer_addr()
        .ok()
        .and_then(|to| interface::towards(to.ip()))
    {
        for (name, value) in interface.facts() {
            add(name, value);
        }
    }
    facts
}

/// Why a congestion control cannot be had, and which can.
pub fn no_congestion(who: &str, asked: Option<&str>, error: &io::Error) -> String {
    let name = asked.unwrap_or_default();
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let there = fs::read_to_string(path).unwrap_or_default();
    match error.raw_os_error() {
        Some(libc::ENOENT) => format!(
            "{who} has no congestion control {name:?}; it has: {}",
            there.trim()
        ),
        Some(libc::EPERM) => format!(
            "{who} lets only root take the congestion control {name:?}; anybody may take those of \
             net.ipv4.tcp_allowed_congestion_control"
        ),
        _ => format!("{who} cannot take the congestion control {name:?}: {error}"),
    }
}
