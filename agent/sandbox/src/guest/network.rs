//! The guest's network interface, with the address that it is given.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use netlink::{links, Socket};
use serde::Deserialize;

const INTERFACE: &str = "eth0";
/// How long the driver may take to find it.
const APPEAR: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Address {
    address: Ipv4Addr,
    prefix: u8,
}

/// Gives the interface its address, and brings it up.
pub fn join(own: &Address) -> Result<(), String> {
    netlink::quieten();
    let mut socket = Socket::open().map_err(|error| format!("the network: {error}"))?;
    let deadline = Instant::now() + APPEAR;
    let index = loop {
        match links::index(&mut socket, INTERFACE) {
            Ok(index) => break index,
            Err(refusal) if Instant::now() > deadline => {
                return Err(format!("there is no {INTERFACE}: {refusal}"))
            }
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    links::add_address(&mut socket, index, own.address, own.prefix)
        .and_then(|()| links::bring_up(&mut socket, index))
        .map_err(|refusal| format!("{INTERFACE} cannot be {}: {refusal}", own.address))
}
