//! The end itself: listens where it was told to, and serves whoever has the key.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::clock;
use crate::measure::tcp;
use crate::peer::dial;
use crate::peer::door::{Door, Seat, MEASUREMENTS, SESSION_NS};
use crate::peer::frames::Frames;
use crate::peer::measuring::{Limits, Table};
use crate::peer::tasks;
use crate::peer::wire::{self, Key, Order, Refusal, Secrets, Side, Task};
use crate::watch::{self, Signals};

/// Longest silence of a connection.
const IDLE: Duration = Duration::from_secs(20);
/// Longest silence of datagrams: they may be lost.
const DATAGRAM_IDLE: Duration = Duration::from_secs(2);
/// A measurement that lasts too long is told so before it is shut out.
const GRACE_NS: i64 = 5_000_000_000;
const KEY_FILE_LIMIT: u64 = 4096;

/// Run `peer`: until it is told to end by a signal.
pub fn run(bind: Option<&str>, key_file: Option<&Path>, limits: Limits) -> ExitCode {
    match start(bind, key_file, limits)
        .and_then(|end| end.serve().map_err(|error| error.to_string()))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("tare-agent peer: {why}");
            ExitCode::FAILURE
        }
    }
}

struct End {
    listener: TcpListener,
    signals: Signals,
    key: Key,
    door: Door,
    table: Table,
    limits: Limits,
}

fn start(bind: Option<&str>, key_file: Option<&Path>, limits: Limits) -> Result<Arc<End>, String> {
    let bind = bind.ok_or("where shall it listen? --bind ADDRESS:PORT")?;
    let key_file = key_file.ok_or("where is the key? --key-file FILE")?;
    let address: SocketAddr = bind
        .parse()
        .map_err(|_| format!("{bind:?} is no numeric address with a port: 192.0.2.1:8273"))?;
    let key = read_key(key_file)?;
    // Before any thread begins, so that none of them takes a signal.
    let signals = Signals::new(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP]);
    let signals = signals.map_err(|error| format!("no signals: {error}"))?;
    let cannot = |error: io::Error| {
        let hint = match error.kind() {
            io::ErrorKind::AddrInUse => "\n  try: --bind with another port",
            io::ErrorKind::AddrNotAvailable => "\n  try: ip address   (lists this machine's)",
            _ => "",
        };
        format!("cannot listen on {address}: {error}{hint}")
    };
    let listener = TcpListener::bind(address).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    tasks::lengthen_queue(&listener).map_err(cannot)?;
    // What its connections begin with; one that sends data is given what is asked for.
    let _ = tcp::control_congestion(&listener, Some(dial::PLAIN));
    let here = listener.local_addr().map_err(cannot)?;
    println!("listening on {here}; on the other machine, type:");
    let key_file = key_file.display();
    println!("    tare fingerprint --peer {here} --key {key_file}");
    println!("    tare net measure {here} --key {key_file}");
    Ok(Arc::new(End {
        listener,
        signals,
        key,
        door: Door::default(),
        table: Table::default(),
        limits,
    }))
}

/// The key, unless others could have read it.
fn read_key(path: &Path) -> Result<Key, String> {
    let cannot = |error| format!("cannot read the key {}: {error}", path.display());
    let mut options = File::options();
    // A pipe of this name must not hold us up.
    let file = options.read(true).custom_flags(libc::O_NONBLOCK);
    let file = file.open(path).map_err(cannot)?;
    let about = file.metadata().map_err(cannot)?;
    if !about.is_file() {
        return Err(format!("the key {} is no file", path.display()));
    }
    if about.mode() & 0o077 != 0 {
        let path = path.display();
        return Err(format!("others may read the key {path}: chmod 600 {path}"));
    }
    let mut text = String::new();
    let mut limited = file.take(KEY_FILE_LIMIT);
    limited.read_to_string(&mut text).map_err(cannot)?;
    Key::from_hexadecimal(&text)
}

impl End {
    fn serve(self: Arc<Self>) -> io::Result<()> {
        loop {
            let next = self.door.shut_out();
            let files = [self.listener.as_raw_fd(), self.signals.as_raw_fd()];
            let [come, signal] = watch::poll(files, next)?;
            if signal && self.signals.take().is_some() {
                return Ok(());
            }
            if come {
                self.admit();
            }
        }
    }

    /// Takes one who has come. Whatever fails with it does not concern the others.
    fn admit(self: &Arc<Self>) {
        let (stream, from) = match self.listener.accept() {
            Ok(come) => come,
            Err(error) => {
                if let Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM) = error.raw_os_error() {
                    // Waits for a place instead of asking for one all the time.
                    std::thread::sleep(Duration::from_millis(20));
                }
                return;
            }
        };
        if self.door.is_expected(from.ip()) {
            return;
        }
        let Ok(Some(number)) = self.door.enter(&stream, from.ip()) else {
            return;
        };
        let end = Arc::clone(self);
        let begun = std::thread::Builder::new()
            .stack_size(256 << 10)
            .spawn(move || {
                // Whoever is served badly, by its own fault or the network's, comes again.
                let _ = end.attend(stream, number);
                end.door.leave(number);
            });
        if begun.is_err() {
            self.door.leave(number);
        }
    }

    fn attend(&self, mut stream: TcpStream, number: u64) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(IDLE))?;
        stream.set_write_timeout(Some(IDLE))?;
        let Some(secrets) = self.shake_hands(&mut stream)? else {
            return Ok(());
        };
        self.door.has_proved(number);
        let mut buffer = Vec::new();
        let deadline_ns = clock::monotonic() + SESSION_NS;
        for order in 0.. {
            let mut sealed = [0; wire::SEALED];
            stream.read_exact(&mut sealed)?;
            let Some(order) = secrets.open(order, &sealed) else {
                return Ok(());
            };
            if let Task::Measure | Task::Join = order.task {
                return self.measure(stream, &secrets, order, number);
            }
            if order.is_bounded() {
                if buffer.is_empty() {
                    buffer = tasks::buffer();
                }
                self.perform(&mut stream, &secrets, order, &mut buffer, deadline_ns)?;
            } else {
                answer(&mut stream, Err(Refusal::Bounds))?;
            }
        }
        Ok(())
    }

    /// None: it has not the key.
    fn shake_hands(&self, stream: &mut TcpStream) -> io::Result<Option<Secrets>> {
        let nonce = wire::nonce()?;
        let mut hello = [0; wire::HELLO];
        let (greeting, rest) = hello.split_at_mut(wire::GREETING.len());
        greeting.copy_from_slice(wire::GREETING);
        rest[0] = wire::VERSION;
        rest[1..].copy_from_slice(&nonce);
        stream.write_all(&hello)?;
        let mut theirs = [0; wire::NONCE];
        let mut proof = [0; wire::PROOF];
        stream.read_exact(&mut theirs)?;
        stream.read_exact(&mut proof)?;
        let secrets = Secrets::new(&self.key, [nonce, theirs]);
        if !secrets.proves(Side::Probe, &proof) {
            return Ok(None);
        }
        stream.write_all(&secrets.proof(Side::End))?;
        Ok(Some(secrets))
    }

    fn perform(
        &self,
        stream: &mut TcpStream,
        secrets: &Secrets,
        order: Order,
        buffer: &mut [u8],
        deadline_ns: i64,
    ) -> io::Result<()> {
        let here = stream.local_addr()?;
        let size = order.bytes as usize;
        match order.task {
            Task::Echo => {
                answer(stream, Ok(0))?;
                tasks::echo(stream, &mut buffer[..size], order.count)
            }
            Task::Take => {
                answer(stream, Ok(0))?;
                let total = order.count * u64::from(order.bytes);
                tasks::take(stream, &mut buffer[..size], total)
            }
            Task::Datagrams => {
                let Ok(socket) = UdpSocket::bind(here) else {
                    return answer(stream, Err(Refusal::Busy));
                };
                socket.set_read_timeout(Some(DATAGRAM_IDLE))?;
                answer(stream, Ok(here.port()))?;
                tasks::return_datagrams(&socket, secrets.token(), order.count, deadline_ns)
            }
            Task::Connects => {
                self.door.expect(stream.peer_addr()?.ip(), order.count);
                answer(stream, Ok(here.port()))
            }
            // They have connections of their own.
            Task::Measure | Task::Join => answer(stream, Err(Refusal::Unknown)),
        }
    }

    /// A connection of a measurement, until that is over.
    fn measure(
        &self,
        mut stream: TcpStream,
        secrets: &Secrets,
        order: Order,
        number: u64,
    ) -> io::Result<()> {
        let longest_ns = self.limits.longest_ns.saturating_add(GRACE_NS);
        let sit = |seat, most| self.door.seat(number, seat, most, longest_ns);
        if order.task == Task::Measure {
            if !sit(Seat::Measurement, MEASUREMENTS) {
                return answer(&mut stream, Err(Refusal::Full));
            }
            answer(&mut stream, Ok(0))?;
            let frames = Frames::new(stream, secrets, Side::End)?;
            return self.table.serve(frames, self.limits);
        }
        let Some(found) = self.table.find(order.count) else {
            return answer(&mut stream, Err(Refusal::Unknown));
        };
        let has_seat = match order.bytes {
            0 => sit(Seat::Echo, MEASUREMENTS),
            _ => sit(Seat::Stream, self.limits.streams as usize),
        };
        if !has_seat {
            return answer(&mut stream, Err(Refusal::Full));
        }
        let Some(part) = found.join(order.bytes, &stream)? else {
            return answer(&mut stream, Err(Refusal::Unknown));
        };
        answer(&mut stream, Ok(0))?;
        found.play(&part, &stream)
    }
}

fn answer(stream: &mut TcpStream, answer: Result<u16, Refusal>) -> io::Result<()> {
    let (code, port) = match answer {
        Ok(port) => (0, port),
        Err(why) => (why as u8, 0),
    };
    let [high, low] = port.to_be_bytes();
    stream.write_all(&[code, high, low])
}
