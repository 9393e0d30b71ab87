//! Whether two hosts of a network reach each other, each by a connection of its own to the other.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// For each connection; longer than the kernel waits before it asks for an address again.
const PATIENCE: Duration = Duration::from_secs(5);

/// Run `meet`: prints the port at which it waits, and then the address of who came and was reached.
pub fn run(address: IpAddr) -> ExitCode {
    match receive(address) {
        Ok(peer) => {
            println!("{peer}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("tare-agent: {why}");
            ExitCode::FAILURE
        }
    }
}

fn receive(address: IpAddr) -> Result<IpAddr, String> {
    let told = |what: &str| {
        let what = what.to_string();
        move |error: io::Error| format!("{what}: {error}")
    };
    let door = TcpListener::bind((address, 0)).map_err(told("cannot listen"))?;
    let port = door.local_addr().map_err(told("cannot listen"))?.port();
    println!("{port}");
    let (mut stream, peer) = accept(&door).map_err(told("nobody reached it"))?;
    let mut port = [0; 2];
    stream
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| stream.read_exact(&mut port))
        .map_err(told("who reached it said nothing"))?;
    let back = SocketAddr::new(peer.ip(), u16::from_be_bytes(port));
    let reached = TcpStream::connect_timeout(&back, PATIENCE);
    reached.map_err(told(&format!("cannot reach {back}")))?;
    Ok(peer.ip())
}

/// Reaches a host that runs `meet`, and is reached by it; returns the own address.
pub fn reach(host: SocketAddr) -> Result<IpAddr, String> {
    let told = |what: String| move |error: io::Error| format!("{what}: {error}");
    let any = match host {
        SocketAddr::V4(_) => "0.0.0.0:0",
        SocketAddr::V6(_) => "[::]:0",
    };
    let door = TcpListener::bind(any).map_err(told("cannot listen".to_string()))?;
    let mut stream = TcpStream::connect_timeout(&host, PATIENCE)
        .map_err(told(format!("cannot reach {}", host.ip())))?;
    let own = stream
        .local_addr()
        .and_then(|own| {
            let port = door.local_addr()?.port();
            stream.write_all(&port.to_be_bytes())?;
            Ok(own.ip())
        })
        .map_err(told(format!("the connection to {} broke", host.ip())))?;
    accept(&door).map_err(told(format!("not reached by {}", host.ip())))?;
    Ok(own)
}

fn accept(door: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let deadline = Instant::now() + PATIENCE;
    door.set_nonblocking(true)?;
    loop {
        match door.accept() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if Instant::now() > deadline {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                thread::sleep(Duration::from_millis(2));
            }
            Ok((stream, peer)) => {
                stream.set_nonblocking(false)?;
                return Ok((stream, peer));
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_reached() {
        let door = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = door.local_addr().unwrap();
        let reaching = thread::spawn(move || reach(host));
        let (mut stream, peer) = accept(&door).unwrap();
        let mut port = [0; 2];
        stream.read_exact(&mut port).unwrap();
        TcpStream::connect((peer.ip(), u16::from_be_bytes(port))).unwrap();
        assert_eq!(reaching.join().unwrap(), Ok(host.ip()));
    }

    #[test]
    fn who_is_not_there_is_not_reached() {
        let host = TcpListener::bind("127.0.0.1:0")
            .and_then(|door| door.local_addr())
            .unwrap();
        assert!(reach(host).unwrap_err().contains("cannot reach 127.0.0.1"));
    }
}
