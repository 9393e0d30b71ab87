//! What is known of an end that a measurement may depend on. What cannot be read is left out.

use std::fs;
use std::io;
use std::net::TcpStream;

use netlink::interface;
use record::network::{EndFact, Ended};

use crate::traffic::{segments, tcp};

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
    add("segment_rtt_refused", segments::refusal(stream));
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

/// Explains why a congestion control is not available, and which ones are.
pub fn no_congestion(here: bool, asked: Option<&str>, error: &io::Error) -> Ended {
    let (which, error) = match error.raw_os_error() {
        Some(libc::ENOENT) => ("available", "there is none of this name".to_string()),
        Some(libc::EPERM) => ("allowed", "only root may take it".to_string()),
        _ => ("", error.to_string()),
    };
    let path = format!("/proc/sys/net/ipv4/tcp_{which}_congestion_control");
    let known = fs::read_to_string(path).unwrap_or_default();
    Ended::CongestionRefused {
        here,
        name: asked.unwrap_or_default().to_string(),
        available: known.trim().to_string(),
        error,
    }
}
