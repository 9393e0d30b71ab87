//! The end itself: listens where it was told to, and serves whoever has the key.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use sys::clock;
use sys::watch::{self, Signals};

use crate::peer::admission::{Admission, Seat, MEASUREMENTS, SESSION_NS};
use crate::peer::hosts;
use crate::peer::log::{Log, Who};
use crate::peer::measuring::{Limits, Table};
use crate::protocol::dial;
use crate::protocol::frames::Frames;
use crate::protocol::tasks;
use crate::traffic::tcp;
use crate::wire::{self, Key, Order, Refusal, Secrets, Side, Task};

/// Longest silence of a connection.
const IDLE: Duration = Duration::from_secs(20);
/// Longest silence of datagrams: they may be lost.
const DATAGRAM_IDLE: Duration = Duration::from_secs(2);
/// A measurement that lasts too long is told so before it is shut out.
const GRACE_NS: i64 = 5_000_000_000;
const KEY_FILE_LIMIT: u64 = 4096;
/// The front's exit code where the agent cannot do its work.
const FAILED: u8 = 13;

/// Run `peer`: until it is told to end by a signal.
pub fn run(
    bind: Option<&str>,
    key_file: Option<&Path>,
    log_file: Option<&Path>,
    limits: Limits,
) -> ExitCode {
    match start(bind, key_file, log_file, limits)
        .and_then(|end| end.serve().map_err(|error| error.to_string()))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // As the front would say it, in whose place this process is.
            eprintln!("tare: {why}");
            ExitCode::from(FAILED)
        }
    }
}

struct End {
    listener: TcpListener,
    signals: Signals,
    key: Key,
    admission: Admission,
    table: Table,
    limits: Limits,
    log: Log,
}

fn start(
    bind: Option<&str>,
    key_file: Option<&Path>,
    log_file: Option<&Path>,
    limits: Limits,
) -> Result<Arc<End>, String> {
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
            io::ErrorKind::AddrInUse => {
                "\n  try: --bind with another port, or: ss -ltnp   (lists who listens)"
            }
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
    let log = Log::new(log_file)
        .map_err(|error| format!("cannot write the log {}: {error}", shown(log_file)))?;
    hosts::greet(here, key_file);
    log.say(Who::End, &format!("serves on {here}"));
    Ok(Arc::new(End {
        listener,
        signals,
        key,
        admission: Admission::default(),
        table: Table::default(),
        limits,
        log,
    }))
}

fn shown(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| path.display().to_string())
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
            let next = [
                self.admission.shut_out(),
                self.log.settle(clock::monotonic()),
            ];
            let next = next.into_iter().flatten().min();
            let files = [self.listener.as_raw_fd(), self.signals.as_raw_fd()];
            let [come, signal] = watch::poll(files, next)?;
            if signal {
                if let Some(signal) = self.signals.take() {
                    self.log.settle(i64::MAX);
                    let name = match signal {
                        libc::SIGINT => "SIGINT",
                        libc::SIGHUP => "SIGHUP",
                        _ => "SIGTERM",
                    };
                    self.log.say(Who::End, &format!("ends: {name}"));
                    return Ok(());
                }
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
        if self.admission.is_expected(from.ip()) {
            return;
        }
        let Ok(Some(number)) = self.admission.enter(&stream, from.ip()) else {
            self.log.say(
                Who::Stranger(from.ip()),
                "refused: as many are served as there is room for",
            );
            return;
        };
        let end = Arc::clone(self);
        let begun = std::thread::Builder::new()
            .stack_size(256 << 10)
            .spawn(move || {
                // Whoever is served badly, by its own fault or the network's, comes again.
                let _ = end.attend(stream, number, from.ip());
                end.admission.leave(number);
            });
        if begun.is_err() {
            self.admission.leave(number);
        }
    }

    fn attend(&self, mut stream: TcpStream, number: u64, from: IpAddr) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(IDLE))?;
        stream.set_write_timeout(Some(IDLE))?;
        let secrets = match self.shake_hands(&mut stream) {
            Ok(Some(secrets)) => secrets,
            Ok(None) => {
                self.log.say(Who::Stranger(from), "refused: wrong key");
                return Ok(());
            }
            Err(error) => {
                self.log.say(Who::Stranger(from), "left without a key");
                return Err(error);
            }
        };
        self.admission.has_proved(number);
        let mut sealed = [0; wire::SEALED];
        stream.read_exact(&mut sealed)?;
        let Some(order) = secrets.open(0, &sealed) else {
            self.log
                .say(Who::Guest(from), "refused: an order without its seal");
            return Ok(());
        };
        if let Task::Measure | Task::Join = order.task {
            return self.measure(stream, &secrets, order, number, from);
        }
        let mut done = Probes::default();
        let began_ns = clock::monotonic();
        let result = self.probe(&mut stream, &secrets, order, &mut done);
        let seconds = (clock::monotonic() - began_ns) as f64 / 1e9;
        let (orders, refused) = (done.orders, done.refused);
        // At most: who orders may leave before the end of it.
        let bytes = done.bytes;
        self.log.say(
            Who::Guest(from),
            &format!(
                "probed: {orders} orders, {refused} refused; {seconds:.1} s, {bytes} bytes at most"
            ),
        );
        result
    }

    /// Carries out the orders of a session, the first of which has come.
    fn probe(
        &self,
        stream: &mut TcpStream,
        secrets: &Secrets,
        first: Order,
        done: &mut Probes,
    ) -> io::Result<()> {
        let mut buffer = tasks::buffer();
        let deadline_ns = clock::monotonic() + SESSION_NS;
        let mut order = first;
        for number in 1.. {
            done.orders += 1;
            let each = match order.task {
                Task::Connects => 0,
                // As long as the token at least, which may be shown instead.
                Task::Datagrams => u64::from(order.bytes).max(wire::TOKEN as u64),
                _ => order.bytes.into(),
            };
            let bytes = order.count.saturating_mul(each);
            if order.is_bounded() && self.table.takes(bytes, self.limits) {
                done.bytes += bytes;
                self.perform(stream, secrets, order, &mut buffer, deadline_ns)?;
            } else {
                done.refused += 1;
                answer(stream, Err(Refusal::Bounds))?;
            }
            let mut sealed = [0; wire::SEALED];
            stream.read_exact(&mut sealed)?;
            let Some(next) = secrets.open(number, &sealed) else {
                return Ok(());
            };
            order = next;
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
                let bounds = [order.bytes.into(), order.count];
                tasks::return_datagrams(&socket, secrets.token(), bounds, deadline_ns)
            }
            Task::Connects => {
                self.admission.expect(stream.peer_addr()?.ip(), order.count);
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
        from: IpAddr,
    ) -> io::Result<()> {
        let longest_ns = self.limits.cut_ns().saturating_add(GRACE_NS);
        let sit = |seat, most| self.admission.seat(number, seat, most, longest_ns);
        if order.task == Task::Measure {
            if !sit(Seat::Measurement, MEASUREMENTS) {
                self.log.say(
                    Who::Guest(from),
                    "refused: as many measurements are under way as there is room for",
                );
                return answer(&mut stream, Err(Refusal::Full));
            }
            answer(&mut stream, Ok(0))?;
            let frames = Frames::new(stream, secrets, Side::End)?;
            let seats = self.admission.seated(Seat::Stream);
            let say = |what: &str| self.log.say(Who::Guest(from), what);
            return self.table.serve(frames, self.limits, seats, &say);
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

/// What a session of probes came to.
#[derive(Default)]
struct Probes {
    orders: u64,
    refused: u64,
    bytes: u64,
}

fn answer(stream: &mut TcpStream, answer: Result<u16, Refusal>) -> io::Result<()> {
    let (code, port) = match answer {
        Ok(port) => (0, port),
        Err(why) => (why as u8, 0),
    };
    let [high, low] = port.to_be_bytes();
    stream.write_all(&[code, high, low])
}
