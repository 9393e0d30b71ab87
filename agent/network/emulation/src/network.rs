//! A network of hosts: each a namespace with a cable to the one bridge.

use std::net::Ipv4Addr;

use netlink::links;

use super::host::Host;
use super::namespace::{self, Namespace};
use super::orders::Refused;

/// Of every host, in its own namespace.
const INTERFACE: &str = "eth0";
const BRIDGE: &str = "br0";
const PREFIX: u8 = 24;

pub struct Network {
    switch: Namespace,
    hosts: Vec<Namespace>,
}

impl Network {
    /// Makes all of it, or nothing.
    pub fn build(
        name: &str,
        count: u32,
        subnet: [u8; 3],
        named: bool,
    ) -> Result<(Self, Vec<Host>), Refused> {
        let (switch, mut cabling) = Namespace::make(&format!("{name}-s"), named)?;
        let mut network = Self {
            switch,
            hosts: Vec::new(),
        };
        let bridge = links::add_bridge(&mut cabling, BRIDGE)
            .map_err(|refusal| lacks("bridge", "bridge", &refusal))?;
        let mut hosts = Vec::new();
        for number in 1..=count {
            let (space, mut socket) = Namespace::make(&format!("{name}-{number}"), named)?;
            let path = space.path.display().to_string();
            let end = std::os::fd::AsRawFd::as_raw_fd(&space.file);
            network.hosts.push(space);
            links::add_cable(&mut cabling, &format!("p{number}"), bridge, INTERFACE, end)
                .map_err(|refusal| lacks("cable between namespaces (veth)", "veth", &refusal))?;
            let address = Ipv4Addr::new(subnet[0], subnet[1], subnet[2], number as u8);
            let index = links::index(&mut socket, INTERFACE)
                .and_then(|index| {
                    links::add_address(&mut socket, index, address, PREFIX)?;
                    links::bring_up(&mut socket, index)?;
                    Ok(index)
                })
                .map_err(|refusal| format!("cannot set up host {number}: {refusal}"))?;
            let host = Host::built(number, socket, index, INTERFACE, path, address)
                .map_err(|refusal| lacks("queue (bfifo)", "sch_bfifo", &refusal))?;
            hosts.push(host);
        }
        Ok((network, hosts))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        namespace::end_processes(self.hosts.iter().chain([&self.switch]));
    }
}

fn lacks(what: &str, module: &str, refusal: &netlink::Refusal) -> Refused {
    Refused::new(
        format!("the kernel makes no {what}: {refusal}"),
        format!("sudo modprobe {module}"),
    )
}
