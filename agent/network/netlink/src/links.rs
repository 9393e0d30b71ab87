//! Interfaces: found, made, named, addressed, brought up.

use std::net::Ipv4Addr;
use std::os::fd::RawFd;

use super::message::Message;
use super::{Refusal, Socket};

/// struct ifinfomsg: family, kind, index, flags, flags that are changed.
const FIXED: usize = 16;
const CREATE: u16 = (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;
/// VETH_INFO_PEER
const PEER: u16 = 1;

/// Returns the number of an interface.
pub fn index(socket: &mut Socket, name: &str) -> Result<u32, Refusal> {
    let message = Message::new(libc::RTM_GETLINK, 0, &fixed(0, 0)).text(libc::IFLA_IFNAME, name);
    let reply = socket.ask(message)?;
    let index = reply.i32_at(4).and_then(|index| u32::try_from(index).ok());
    index.ok_or_else(short)
}

/// Makes a bridge that is up.
pub fn add_bridge(socket: &mut Socket, name: &str) -> Result<u32, Refusal> {
    socket.order(bridge(name))?;
    index(socket, name)
}

fn bridge(name: &str) -> Message {
    Message::new(libc::RTM_NEWLINK, CREATE, &fixed(0, libc::IFF_UP as u32))
        .text(libc::IFLA_IFNAME, name)
        .nest(libc::IFLA_LINKINFO, |info| {
            info.text(libc::IFLA_INFO_KIND, "bridge")
        })
}

/// Makes a cable: one end here, up, a port of a bridge; the other in another namespace, down.
pub fn add_cable(
    socket: &mut Socket,
    name: &str,
    bridge: u32,
    other: &str,
    namespace: RawFd,
) -> Result<(), Refusal> {
    socket.order(cable(name, Some(bridge), other, namespace as u32))
}

/// Makes a cable that no bridge has: one end here, up; the other in another namespace, down.
pub fn add_pair(
    socket: &mut Socket,
    name: &str,
    other: &str,
    namespace: RawFd,
) -> Result<(), Refusal> {
    socket.order(cable(name, None, other, namespace as u32))
}

fn cable(name: &str, bridge: Option<u32>, other: &str, namespace: u32) -> Message {
    let peer = |peer: Message| {
        peer.raw(&fixed(0, 0))
            .u32(libc::IFLA_NET_NS_FD, namespace)
            .text(libc::IFLA_IFNAME, other)
    };
    let message = Message::new(libc::RTM_NEWLINK, CREATE, &fixed(0, libc::IFF_UP as u32));
    let message = match bridge {
        Some(bridge) => message.u32(libc::IFLA_MASTER, bridge),
        None => message,
    };
    message
        .text(libc::IFLA_IFNAME, name)
        .nest(libc::IFLA_LINKINFO, |info| {
            info.bytes(libc::IFLA_INFO_KIND, b"veth")
                .nest(libc::IFLA_INFO_DATA, |data| data.nest(PEER, peer))
        })
}

/// Removes an interface; of a cable both ends.
pub fn remove(socket: &mut Socket, index: u32) -> Result<(), Refusal> {
    socket.order(Message::new(libc::RTM_DELLINK, 0, &fixed(index, 0)))
}

/// Brings an interface up.
pub fn bring_up(socket: &mut Socket, index: u32) -> Result<(), Refusal> {
    socket.order(up(index))
}

fn up(index: u32) -> Message {
    Message::new(libc::RTM_NEWLINK, 0, &fixed(index, libc::IFF_UP as u32))
}

/// Gives an interface an address.
pub fn add_address(
    socket: &mut Socket,
    index: u32,
    address: Ipv4Addr,
    prefix: u8,
) -> Result<(), Refusal> {
    socket.order(addressed(index, address, prefix))
}

fn addressed(index: u32, address: Ipv4Addr, prefix: u8) -> Message {
    // struct ifaddrmsg: family, prefix, flags, scope, index.
    let mut fixed = vec![libc::AF_INET as u8, prefix, 0, libc::RT_SCOPE_UNIVERSE];
    fixed.extend(index.to_ne_bytes());
    Message::new(libc::RTM_NEWADDR, CREATE, &fixed)
        .bytes(libc::IFA_LOCAL, &address.octets())
        .bytes(libc::IFA_ADDRESS, &address.octets())
}

/// Sends what is for one address by an interface.
pub fn add_route(socket: &mut Socket, index: u32, address: Ipv4Addr) -> Result<(), Refusal> {
    socket.order(route(index, address))
}

fn route(index: u32, address: Ipv4Addr) -> Message {
    const WHOLE: u8 = 32;
    // struct rtmsg: family, length of destination and of source, service, table, protocol, scope,
    // kind, flags.
    let mut fixed = vec![libc::AF_INET as u8, WHOLE, 0, 0];
    fixed.extend([libc::RT_TABLE_MAIN, libc::RTPROT_BOOT]);
    fixed.extend([libc::RT_SCOPE_LINK, libc::RTN_UNICAST]);
    fixed.extend([0; 4]);
    Message::new(libc::RTM_NEWROUTE, CREATE, &fixed)
        .bytes(libc::RTA_DST, &address.octets())
        .u32(libc::RTA_OIF, index)
}

fn fixed(index: u32, flags: u32) -> [u8; FIXED] {
    let mut bytes = [0; FIXED];
    bytes[4..8].copy_from_slice(&index.to_ne_bytes());
    bytes[8..12].copy_from_slice(&flags.to_ne_bytes());
    bytes[12..16].copy_from_slice(&flags.to_ne_bytes());
    bytes
}

fn short() -> Refusal {
    Refusal {
        errno: libc::EPROTO,
        said: Some("an answer that is too short".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::recorded;
    use super::*;

    /// What iproute2 6.1 sends, but for the number of the message.
    #[test]
    fn messages_are_those_of_ip() {
        // ip link add p1 master br0 up type veth peer name eth0 netns …
        let sent = recorded(
            "68 00 00 00 10 00 05 06  00 00 00 00 00 00 00 00
             00 00 00 00 00 00 00 00  01 00 00 00 01 00 00 00
             08 00 0a 00 02 00 00 00  07 00 03 00 70 31 00 00
             38 00 12 00 08 00 01 00  76 65 74 68 2c 00 02 00
             28 00 01 00 00 00 00 00  00 00 00 00 00 00 00 00
             00 00 00 00 08 00 1c 00  04 00 00 00 09 00 03 00
             65 74 68 30 00 00 00 00",
        );
        const REQUEST: u16 = (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        assert_eq!(cable("p1", Some(2), "eth0", 4).finish(REQUEST, 0), sent);
        // ip addr add 10.77.0.1/24 dev v0
        let sent = recorded(
            "28 00 00 00 14 00 05 06  00 00 00 00 00 00 00 00
             02 18 00 00 04 00 00 00  08 00 02 00 0a 4d 00 01
             08 00 01 00 0a 4d 00 01",
        );
        let address = Ipv4Addr::new(10, 77, 0, 1);
        assert_eq!(addressed(4, address, 24).finish(REQUEST, 0), sent);
        // ip route add 10.77.0.65/32 dev v0
        let sent = recorded(
            "2c 00 00 00 18 00 05 06  00 00 00 00 00 00 00 00
             02 20 00 00 fe 03 fd 01  00 00 00 00 08 00 01 00
             0a 4d 00 41 08 00 04 00  04 00 00 00",
        );
        let address = Ipv4Addr::new(10, 77, 0, 65);
        assert_eq!(route(4, address).finish(REQUEST, 0), sent);
    }
}
