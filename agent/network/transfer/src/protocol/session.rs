//! A probe's side of a session with the remote end.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use record::network::Ended;
use record::Peer;

use crate::protocol::dial;
use crate::wire::{self, Key, Order, Refusal, Secrets, Side, Task};

/// What does not answer in this time is not there.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longer than any datagram is on its way.
const DATAGRAM_PATIENCE: Duration = Duration::from_millis(500);

pub struct Session {
    pub stream: TcpStream,
    secrets: Secrets,
    orders: u64,
}

/// Why there is no session.
#[derive(Debug)]
pub struct Failure {
    pub why: Ended,
    /// Whether it would be the same at the next try.
    pub is_lasting: bool,
}

impl Failure {
    pub fn lasting(why: impl Into<Ended>) -> Self {
        Self {
            why: why.into(),
            is_lasting: true,
        }
    }

    pub fn passing(why: impl Into<Ended>) -> Self {
        Self {
            why: why.into(),
            is_lasting: false,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::passing(told(error))
    }
}

impl Session {
    /// # Errors
    /// Says which of both ends does not have the key, or what does not answer.
    pub fn open(peer: &Peer) -> Result<Self, String> {
        Self::begin(peer, None).map_err(|failure| failure.why.to_string())
    }

    /// The same, for who would try again; with a congestion control, or the kernel's default.
    pub fn begin(peer: &Peer, congestion: Option<&str>) -> Result<Self, Failure> {
        let key = Key::from_hexadecimal(&peer.key).map_err(Failure::lasting)?;
        let address: SocketAddr = (peer.address.parse()).map_err(|_| {
            Failure::lasting(format!(
                "{:?} is no numeric address with a port",
                peer.address
            ))
        })?;
        let mut stream = dial::connect(&address, congestion, PATIENCE)
            .map_err(|error| not_reached(address, &error))?;
        let secrets = shake_hands(&mut stream, &key, || address.to_string())?;
        Ok(Self {
            stream,
            secrets,
            orders: 0,
        })
    }

    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Gives an order and returns the port of its answer.
    pub fn order(&mut self, task: Task, bytes: u32, count: u64) -> Result<u16, String> {
        self.ask(task, bytes, count).map_err(|why| why.to_string())
    }

    /// The same, for who wants to know why as more than words.
    pub fn ask(&mut self, task: Task, bytes: u32, count: u64) -> Result<u16, Ended> {
        let order = Order { task, bytes, count };
        let sealed = self.secrets.seal(self.orders, order);
        self.orders += 1;
        let mut answer = [0; 3];
        self.stream.write_all(&sealed).map_err(told)?;
        read_all(&mut self.stream, &mut answer, PATIENCE).map_err(told)?;
        match answer {
            [0, high, low] => Ok(u16::from_be_bytes([high, low])),
            [code, ..] if code == Refusal::Full as u8 => Err(Ended::EndFull),
            [code, ..] => Err(format!("the other end refuses: {}", Refusal::told(code)).into()),
        }
    }

    /// A socket whose datagrams come back.
    pub fn datagrams(&mut self, bytes: u32, count: u64) -> Result<UdpSocket, String> {
        let port = self.order(Task::Datagrams, bytes, count)?;
        let here = self.stream.local_addr().map_err(told)?.ip();
        let there = self.stream.peer_addr().map_err(told)?.ip();
        let begin = || {
            let socket = UdpSocket::bind((here, 0))?;
            socket.connect((there, port))?;
            socket.set_read_timeout(Some(DATAGRAM_PATIENCE))?;
            let token = self.secrets.token();
            let mut back = [0; wire::TOKEN];
            for _ in 0..4 {
                // Once more: it may have been lost.
                socket.send(token)?;
                if socket
                    .recv(&mut back)
                    .is_ok_and(|length| back[..length] == token[..])
                {
                    return Ok(socket);
                }
            }
            Err(io::Error::other(format!(
                "no datagram comes back from {there}, port {port}: does a firewall keep UDP away?"
            )))
        };
        begin().map_err(told)
    }
}

fn not_reached(address: SocketAddr, error: &io::Error) -> Failure {
    let end = address.to_string();
    match error.kind() {
        // Its host is there, and says so.
        io::ErrorKind::ConnectionRefused => Failure::lasting(Ended::PortClosed { end }),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            Failure::passing(Ended::EndSilent { end })
        }
        _ => Failure::passing(Ended::EndUnreachable {
            end,
            error: error.to_string(),
        }),
    }
}

fn shake_hands(
    stream: &mut TcpStream,
    key: &Key,
    end: impl Fn() -> String,
) -> Result<Secrets, Failure> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut hello = [0; wire::HELLO];
    let mute = |_| Failure::passing(Ended::EndMute { end: end() });
    read_all(stream, &mut hello, PATIENCE).map_err(mute)?;
    let (greeting, rest) = hello.split_at(wire::GREETING.len());
    if greeting != wire::GREETING {
        return Err(Failure::lasting(Ended::NotTare { end: end() }));
    }
    if rest[0] != wire::VERSION {
        return Err(Failure::lasting(Ended::OtherVersion {
            end: end(),
            theirs: rest[0],
            ours: wire::VERSION,
        }));
    }
    let mut theirs = [0; wire::NONCE];
    theirs.copy_from_slice(&rest[1..]);
    let ours = wire::nonce()?;
    let secrets = Secrets::new(key, [theirs, ours]);
    let mut first = ours.to_vec();
    first.extend(secrets.proof(Side::Probe));
    stream.write_all(&first)?;
    let mut proof = [0; wire::PROOF];
    read_all(stream, &mut proof, PATIENCE)
        .map_err(|_| Failure::lasting(Ended::OtherKey { end: end() }))?;
    if !secrets.proves(Side::End, &proof) {
        return Err(Failure::lasting(Ended::KeyNotProved { end: end() }));
    }
    Ok(secrets)
}

/// Reads all of it within a time, however slowly it drips.
fn read_all(stream: &mut TcpStream, mut into: &mut [u8], patience: Duration) -> io::Result<()> {
    let until = Instant::now() + patience;
    let end = || io::Error::from(io::ErrorKind::UnexpectedEof);
    while !into.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(into) {
            Ok(0) => return Err(end()),
            Ok(read) => into = &mut into[read..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    stream.set_read_timeout(Some(patience))
}

fn told(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the other end closed the connection".to_string(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            "the other end does not answer any more".to_string()
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn who_drips_is_not_waited_for_byte_by_byte() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut there, _) = listener.accept().unwrap();
        let drips = thread::spawn(move || {
            while there.write_all(&[0]).is_ok() {
                thread::sleep(Duration::from_millis(20));
            }
        });
        let patience = Duration::from_millis(200);
        let error = read_all(&mut here, &mut [0; 1000], patience).unwrap_err();
        assert!(matches!(
            error.kind(),
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
        ));
        assert!(read_all(&mut here, &mut [0; 2], patience).is_ok());
        drop(here);
        drips.join().unwrap();
    }
}
