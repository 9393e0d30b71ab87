//! A network of hosts: each a namespace with a cable to the one bridge.

use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use netlink::links;
use record::network::{BuiltPort, PortEnd};

use super::host::Host;
use super::namespace::{self, Namespace, INTERFACE};
use super::orders::{Refused, PREFIX};
use super::port::{self, Port};

const BRIDGE: &str = "br0";

pub struct Network {
    switch: Namespace,
    hosts: Vec<Namespace>,
    ports: Vec<Port>,
    name: String,
    subnet: [u8; 3],
    named: bool,
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
            ports: Vec::new(),
            name: name.to_string(),
            subnet,
            named,
        };
        let bridge = links::add_bridge(&mut cabling, BRIDGE)
            .map_err(|refusal| Refused::unsupported("bridge", "bridge", &refusal))?;
        let mut hosts = Vec::new();
        for number in 1..=count {
            let (space, mut socket) = Namespace::make(&format!("{name}-{number}"), named)?;
            let path = space.path.display().to_string();
            let end = space.file.as_raw_fd();
            network.hosts.push(space);
            links::add_cable(&mut cabling, &format!("p{number}"), bridge, INTERFACE, end).map_err(
                |refusal| Refused::unsupported("cable between namespaces (veth)", "veth", &refusal),
            )?;
            let address = Ipv4Addr::new(subnet[0], subnet[1], subnet[2], number as u8);
            let index = links::index(&mut socket, INTERFACE)
                .and_then(|index| {
                    links::add_address(&mut socket, index, address, PREFIX)?;
                    links::bring_up(&mut socket, index)?;
                    Ok(index)
                })
                .map_err(|refusal| format!("cannot set up host {number}: {refusal}"))?;
            let host = Host::built(number, socket, index, INTERFACE, path, address)
                .map_err(|refusal| Refused::unsupported("queue (bfifo)", "sch_bfifo", &refusal))?;
            hosts.push(host);
        }
        Ok((network, hosts))
    }

    /// Adds a port of a host.
    pub fn add_port(&mut self, host: u32, end: &PortEnd) -> Result<BuiltPort, Refused> {
        let space = (host as usize)
            .checked_sub(1)
            .and_then(|at| self.hosts.get(at))
            .ok_or_else(|| format!("there is no host {host}"))?;
        let taken = |number: &u8| self.ports.iter().any(|port| port.number == *number);
        let number = port::NUMBERS.into_iter().find(|number| !taken(number));
        let number = number.ok_or_else(|| "every address of the network is taken".to_string())?;
        let [a, b, c] = self.subnet;
        let address = Ipv4Addr::new(a, b, c, number);
        let name = format!("{}-{number}", self.name);
        let port = Port::make(space, number, address, end, &name, self.named)?;
        let built = port.built(address);
        self.ports.push(port);
        Ok(built)
    }

    /// Removes a port, with all that runs in a namespace that was made for it.
    pub fn remove_port(&mut self, number: u32) -> Result<(), Refused> {
        let at = self
            .ports
            .iter()
            .position(|p| u32::from(p.number) == number);
        let at = at.ok_or_else(|| format!("there is no port {number}"))?;
        self.ports.remove(at).remove()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let ports = self.ports.iter().filter_map(|port| port.namespace.as_ref());
        namespace::end_processes(self.hosts.iter().chain([&self.switch]).chain(ports));
    }
}
