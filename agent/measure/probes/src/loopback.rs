//! Both ends on this machine, each a process: what network probes measure without a peer.

use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};

use transfer::protocol::tasks;
use transfer::wire;

use crate::partner::Partner;

const HERE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

/// A connection to a process that serves it.
pub fn connection(serve: impl FnOnce(TcpStream)) -> io::Result<(TcpStream, Partner)> {
    let listener = TcpListener::bind(HERE)?;
    let address = listener.local_addr()?;
    let partner = Partner::start(move || {
        if let Ok((stream, _)) = listener.accept() {
            serve(stream);
        }
    })?;
    Ok((TcpStream::connect(address)?, partner))
}

/// A connection on which every message of that size comes back.
pub fn echo(bytes: usize) -> io::Result<(TcpStream, Partner)> {
    let (stream, partner) = connection(move |mut stream| {
        let _ = stream.set_nodelay(true);
        let _ = tasks::echo(&mut stream, &mut vec![0; bytes], u64::MAX);
    })?;
    stream.set_nodelay(true)?;
    Ok((stream, partner))
}

/// A connection to a process that is told, each time, how many bytes it is to take in reads of
/// how many.
pub fn taker() -> io::Result<(TcpStream, Partner)> {
    connection(|mut stream| {
        let mut buffer = tasks::buffer();
        let mut told = [0; 16];
        while stream.read_exact(&mut told).is_ok() {
            let [size, bytes] = [&told[..8], &told[8..]]
                .map(|half| u64::from_be_bytes(half.try_into().expect("eight bytes")));
            if tasks::take(&mut stream, &mut buffer[..size as usize], bytes).is_err() {
                break;
            }
        }
    })
}

/// A socket whose datagrams come back.
pub fn datagrams() -> io::Result<(UdpSocket, Partner)> {
    let [ours, theirs] = [UdpSocket::bind(HERE)?, UdpSocket::bind(HERE)?];
    ours.connect(theirs.local_addr()?)?;
    theirs.connect(ours.local_addr()?)?;
    let token = [0; wire::TOKEN];
    let partner = Partner::start(move || {
        let _ = tasks::return_datagrams(&theirs, &token, [u64::MAX; 2], i64::MAX);
    })?;
    ours.send(&token)?;
    ours.recv(&mut [0; wire::TOKEN])?;
    Ok((ours, partner))
}

/// A listener that accepts every connection and closes it after the other side has.
pub fn closer() -> io::Result<(std::net::SocketAddr, Partner)> {
    let listener = TcpListener::bind(HERE)?;
    tasks::lengthen_queue(&listener)?;
    let address = listener.local_addr()?;
    let partner = Partner::start(move || loop {
        if let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.read(&mut [0]);
        }
    })?;
    Ok((address, partner))
}
