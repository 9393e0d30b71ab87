//! A port of a host: an address for what cannot go into its namespace, such as a container of an
//! engine or a virtual machine.
//!
//! One end of a cable is in the host's namespace, which forwards between it and its own interface,
//! and answers in both directions who asks for the address of the other (proxy ARP). So what the
//! port sends is in the same queue as what the host sends, and the same bucket pays for it.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::os::fd::AsRawFd;

use netlink::{links, Refusal, Socket};
use record::network::{BuiltPort, PortEnd};

use super::namespace::{self, Namespace, INTERFACE};
use super::orders::{Refused, PREFIX};

/// Last bytes of their addresses: behind those of hosts.
pub const NUMBERS: RangeInclusive<u8> = super::orders::HOSTS as u8 + 1..=254;
const TUN: &str = "/dev/net/tun";
/// ioctls of `/dev/net/tun`, <linux/if_tun.h>.
const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
const TUNSETPERSIST: libc::c_ulong = 0x4004_54cb;

pub struct Port {
    pub number: u8,
    /// That was made for it.
    pub namespace: Option<Namespace>,
    /// Into the host's namespace.
    socket: Socket,
    index: u32,
}

impl Port {
    /// Makes all of it, or nothing.
    pub fn make(
        host: &Namespace,
        number: u8,
        address: Ipv4Addr,
        end: &PortEnd,
        name: &str,
        named: bool,
    ) -> Result<Self, Refused> {
        let cannot = |why: String| Refused::from(format!("cannot add a port: {why}"));
        let mut socket = namespace::within(&host.file, Socket::open)
            .and_then(|socket| socket)
            .map_err(|error| cannot(error.to_string()))?;
        let interface = interface(number);
        let (own, other) = match end {
            PortEnd::OwnNamespace => {
                let (own, _) = Namespace::make(name, named)?;
                let other = own.file.try_clone();
                (Some(own), Some(other.map_err(|e| cannot(e.to_string()))?))
            }
            PortEnd::Container { namespace } => (None, Some(container(namespace)?)),
            PortEnd::Tap => (None, None),
        };
        match &other {
            Some(other) => links::add_pair(&mut socket, &interface, INTERFACE, other.as_raw_fd())
                .map_err(|refusal| {
                Refused::unsupported("cable between namespaces (veth)", "veth", &refusal)
            })?,
            None => make_tap(host, &interface)?,
        }
        let index = links::index(&mut socket, &interface).map_err(|r| cannot(r.to_string()))?;
        let mut port = Self {
            number,
            namespace: own,
            socket,
            index,
        };
        let outcome = port.connect(host, address, other.as_ref()).map_err(cannot);
        match outcome {
            Ok(()) => Ok(port),
            Err(refused) => {
                let _ = port.remove();
                Err(refused)
            }
        }
    }

    fn connect(
        &mut self,
        host: &Namespace,
        address: Ipv4Addr,
        other: Option<&File>,
    ) -> Result<(), String> {
        let told = |refusal: Refusal| refusal.to_string();
        links::bring_up(&mut self.socket, self.index).map_err(told)?;
        links::add_route(&mut self.socket, self.index, address).map_err(told)?;
        let interface = interface(self.number);
        namespace::within(&host.file, || {
            forward(INTERFACE).and_then(|()| forward(&interface))
        })
        .and_then(|outcome| outcome)
        .map_err(|error| format!("{error}: /proc/sys/net is not writable here"))?;
        let Some(other) = other else { return Ok(()) };
        namespace::within(other, || address_end(address))
            .map_err(|error| error.to_string())?
            .map_err(told)
    }

    pub fn built(&self, address: Ipv4Addr) -> BuiltPort {
        let path = |own: &Namespace| own.path.display().to_string();
        BuiltPort {
            port: self.number.into(),
            address: address.to_string(),
            prefix: PREFIX,
            namespace: self.namespace.as_ref().map(path),
            interface: interface(self.number),
        }
    }

    /// Removes it, and ends what runs in its own namespace.
    pub fn remove(mut self) -> Result<(), Refused> {
        namespace::end_processes(self.namespace.iter());
        match links::remove(&mut self.socket, self.index) {
            // With a container its end goes, and with one end the other.
            Err(refusal) if refusal.errno != libc::ENODEV => {
                Err(format!("cannot remove port {}: {refusal}", self.number).into())
            }
            _ => Ok(()),
        }
    }
}

fn interface(number: u8) -> String {
    format!("t{number}")
}

/// Opens the namespace of a container, which must be neither this process's nor the machine's.
fn container(path: &str) -> Result<File, Refused> {
    let file = File::open(path).map_err(|error| {
        format!("cannot open the container's network namespace {path}: {error}")
    })?;
    for outer in ["/proc/thread-self/ns/net", "/proc/1/ns/net"] {
        if namespace::is_same(&file, outer) {
            return Err(format!("{path} is the network of this machine, not a container's").into());
        }
    }
    Ok(file)
}

/// Lets packets through an interface, and answers there for addresses that are elsewhere.
fn forward(interface: &str) -> io::Result<()> {
    let conf = |name: &str| format!("/proc/sys/net/ipv4/conf/{interface}/{name}");
    fs::write(conf("forwarding"), "1")?;
    fs::write(conf("proxy_arp"), "1")?;
    // Otherwise the kernel waits up to 0.8 s before it answers for another.
    fs::write(
        format!("/proc/sys/net/ipv4/neigh/{interface}/proxy_delay"),
        "0",
    )
}

/// Sets up the end of the port, in whose namespace this thread is.
fn address_end(address: Ipv4Addr) -> Result<(), Refusal> {
    const LOOPBACK: u32 = 1;
    netlink::quieten();
    let mut socket = Socket::open()?;
    let index = links::index(&mut socket, INTERFACE)?;
    links::add_address(&mut socket, index, address, PREFIX)?;
    links::bring_up(&mut socket, LOOPBACK)?;
    links::bring_up(&mut socket, index)
}

/// Makes an interface in a host's namespace whose other end is the process that opens it.
fn make_tap(host: &Namespace, interface: &str) -> Result<(), Refused> {
    let made = namespace::within(&host.file, || {
        let file = OpenOptions::new().read(true).write(true).open(TUN)?;
        // SAFETY: a plain structure; the name has room, and a zero behind it.
        unsafe {
            let mut request: libc::ifreq = std::mem::zeroed();
            let name = CString::new(interface)?;
            for (to, from) in request.ifr_name.iter_mut().zip(name.as_bytes()) {
                *to = *from as libc::c_char;
            }
            request.ifr_ifru.ifru_flags =
                (libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
            if libc::ioctl(file.as_raw_fd(), TUNSETIFF as _, &request) < 0
                || libc::ioctl(file.as_raw_fd(), TUNSETPERSIST as _, 1) < 0
            {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    });
    made.and_then(|outcome| outcome).map_err(|error| {
        let interface = format!("interface for a virtual machine ({TUN})");
        Refused::unsupported(&interface, "tun", &error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_host_has_the_address_of_a_port() {
        assert!(!NUMBERS.contains(&(super::super::orders::HOSTS as u8)));
        assert!(NUMBERS.count() >= 64);
    }

    #[test]
    fn the_network_of_this_machine_gets_no_end() {
        let refused = container("/proc/self/ns/net").unwrap_err();
        assert!(refused.message.contains("of this machine"), "{refused:?}");
        assert!(container("/nowhere/ns/net").is_err());
    }
}
