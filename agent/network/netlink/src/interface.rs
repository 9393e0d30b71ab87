//! The interface by which data leaves, as the kernel describes it in this network namespace.

use std::net::IpAddr;
use std::os::fd::AsRawFd;

use crate::message::{attribute, text, u32_at, Message};
use crate::Socket;

/// struct rtmsg, struct ifinfomsg.
const ROUTE: usize = 12;
const LINK: usize = 16;

/// Commands of ethtool that answer with a number, and the one that describes the driver.
const SEGMENTATION: u32 = 0x1e;
const SEGMENTATION_BY_KERNEL: u32 = 0x23;
const AGGREGATION: u32 = 0x2b;
const DRIVER: u32 = 0x03;
/// struct ethtool_drvinfo: the driver's name has 32 bytes after the command.
const DRIVER_INFO: usize = 196;

pub struct Interface {
    name: String,
    mtu: Option<u32>,
    qdisc: Option<String>,
}

/// By which this address is reached.
pub fn towards(to: IpAddr) -> Option<Interface> {
    let mut socket = Socket::open().ok()?;
    let reply = socket.ask(route(to)).ok()?;
    let index = u32_at(attribute(reply.after(ROUTE), libc::RTA_OIF)?, 0)?;
    let mut fixed = [0; LINK];
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    let reply = socket
        .ask(Message::new(libc::RTM_GETLINK, 0, &fixed))
        .ok()?;
    let told = reply.after(LINK);
    Some(Interface {
        name: text(attribute(told, libc::IFLA_IFNAME)?),
        mtu: attribute(told, libc::IFLA_MTU).and_then(|mtu| u32_at(mtu, 0)),
        qdisc: attribute(told, libc::IFLA_QDISC).map(text),
    })
}

fn route(to: IpAddr) -> Message {
    let mut fixed = [0; ROUTE];
    let (family, address) = match to.to_canonical() {
        IpAddr::V4(address) => (libc::AF_INET, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6, address.octets().to_vec()),
    };
    fixed[0] = family as u8;
    fixed[1] = 8 * address.len() as u8;
    Message::new(libc::RTM_GETROUTE, 0, &fixed).bytes(libc::RTA_DST, &address)
}

impl Interface {
    pub fn facts(&self) -> Vec<(&'static str, Option<String>)> {
        let switch = |command| {
            Some(
                if self.number(command)? == 0 {
                    "off"
                } else {
                    "on"
                }
                .to_string(),
            )
        };
        vec![
            ("interface", Some(self.name.clone())),
            ("driver", self.driver()),
            ("mtu", self.mtu.map(|mtu| mtu.to_string())),
            ("qdisc", self.qdisc.clone()),
            ("tso", switch(SEGMENTATION)),
            ("gso", switch(SEGMENTATION_BY_KERNEL)),
            ("gro", switch(AGGREGATION)),
        ]
    }

    fn number(&self, command: u32) -> Option<u32> {
        let mut value = [command, 0];
        self.ethtool(value.as_mut_ptr().cast())?;
        Some(value[1])
    }

    fn driver(&self) -> Option<String> {
        // As aligned as the structure.
        let mut info = [0_u32; DRIVER_INFO / 4];
        info[0] = DRIVER;
        self.ethtool(info.as_mut_ptr().cast())?;
        let name: Vec<u8> = info[1..9]
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect();
        Some(text(&name)).filter(|name| !name.is_empty())
    }

    /// Has the driver answer; `data` begins with the command and has room for its answer.
    fn ethtool(&self, data: *mut libc::c_char) -> Option<()> {
        let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
        // SAFETY: a structure of numbers and a pointer that outlives the call.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        // The last byte stays zero.
        let room = request.ifr_name.len() - 1;
        for (to, byte) in request.ifr_name[..room].iter_mut().zip(self.name.bytes()) {
            *to = byte as libc::c_char;
        }
        request.ifr_ifru.ifru_data = data;
        // SAFETY: the kernel writes as much as the command answers, for which there is room.
        let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &mut request) };
        (done == 0).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_found_and_described() {
        let found = towards(IpAddr::from([127, 0, 0, 1])).unwrap();
        assert_eq!(found.name, "lo");
        let facts = found.facts();
        assert!(
            facts.contains(&("qdisc", Some("noqueue".to_string()))),
            "{facts:?}"
        );
        let mtu = facts.iter().find(|(name, _)| *name == "mtu").unwrap();
        assert!(mtu.1.as_ref().unwrap().parse::<u32>().unwrap() >= 1500);
    }
}
