//! What to type on the other machine to reach this one.

use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// Tells where this end listens, and how it is reached from another machine.
pub fn greet(here: SocketAddr, key_file: &Path) {
    println!("listening on {here}; on the other machine, type:");
    let key_file = key_file.display();
    let mut others = Vec::new();
    let host = if here.ip().is_unspecified() {
        let mut known = addresses();
        known.retain(|address| here.is_ipv6() || address.is_ipv4());
        let mut known = known
            .into_iter()
            .map(|address| SocketAddr::new(address, here.port()).to_string());
        let first = known.next();
        others.extend(known);
        first.unwrap_or_else(|| format!("HOST:{}", here.port()))
    } else {
        here.to_string()
    };
    println!("    tare fingerprint --peer {host} --key {key_file}");
    println!("    tare net measure {host} --key {key_file}");
    if here.ip().is_unspecified() {
        match others.as_slice() {
            [] if host.starts_with("HOST") => println!("HOST is an address of this machine"),
            [] => {}
            _ => println!("or another address of this machine: {}", others.join(", ")),
        }
        println!("it listens on every address of this machine, for whoever has the key");
    }
}

/// Of this machine, as others may reach it: those of version 4 first.
fn addresses() -> Vec<IpAddr> {
    let mut found = Vec::new();
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: fills in a list, which is given back below.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return found;
    }
    let mut next = list;
    // SAFETY: the list ends with a null pointer; so may each address be.
    while let Some(one) = unsafe { next.as_ref() } {
        next = one.ifa_next;
        // SAFETY: a name that the kernel gave ends with a zero.
        let is_loopback = unsafe { CStr::from_ptr(one.ifa_name) }.to_bytes() == b"lo";
        let is_up = one.ifa_flags & libc::IFF_UP as libc::c_uint != 0;
        if let (false, true, Some(address)) = (is_loopback, is_up, address_of(one.ifa_addr)) {
            found.push(address);
        }
    }
    // SAFETY: as it was given.
    unsafe { libc::freeifaddrs(list) };
    found.sort_by_key(IpAddr::is_ipv6);
    found
}

/// An address that does not need the name of an interface beside it.
fn address_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: its family says what it is; version 4 and 6 are as long as their structures.
    unsafe {
        match libc::c_int::from(address.as_ref()?.sa_family) {
            libc::AF_INET => {
                let address = address.cast::<libc::sockaddr_in>().read_unaligned();
                let found = Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
                (!found.is_link_local() && !found.is_loopback()).then_some(found.into())
            }
            libc::AF_INET6 => {
                let address = address.cast::<libc::sockaddr_in6>().read_unaligned();
                let found = Ipv6Addr::from(address.sin6_addr.s6_addr);
                let is_local = found.segments()[0] & 0xffc0 == 0xfe80 || found.is_loopback();
                (!is_local).then_some(found.into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_is_one_that_only_this_machine_reaches() {
        for address in addresses() {
            assert!(!address.is_loopback() && !address.is_unspecified());
        }
    }
}
