//! `emulate`: makes a small network of hosts, or takes an interface, shapes what leaves it, and
//! puts everything back when its orders end, however they do.
//!
//! One loop looks after all hosts. The kernel keeps the rate of each (htb, `netlink::traffic`); this
//! process keeps the tokens, from what the *queueing discipline* counted, since an interface counts
//! the headers of a packet once that is cut into many only later. It changes the rate when a
//! bucket is empty or has tokens again, or when a step is over.

mod bucket;
pub mod enter;
mod host;
mod namespace;
mod network;
mod orders;
mod port;
mod reporter;
mod rights;
mod shaping;
mod steps;
pub mod taken;

use std::io;
use std::os::fd::AsRawFd;
use std::process::ExitCode;

use netlink::Refusal;
use record::network::{EmulateOrder, EmulateRecord, HostShape, PortEnd};
use stream::{Jobs, STDIN};
use sys::clock;
use sys::watch::{self, Signals};

use host::Host;
use network::Network;
use orders::{Refused, HOSTS, LINE_LIMIT};
use reporter::Reporter;
use taken::Taken;

/// Run `emulate`.
pub fn run() -> ExitCode {
    let signals = match Signals::new(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP]) {
        Ok(signals) => signals,
        Err(error) => {
            eprintln!("tare-agent: cannot hear of signals: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut emulator = Emulator {
        hosts: Vec::new(),
        network: None,
        taken: None,
        log: None,
        orders: Jobs::of(LINE_LIMIT),
        reporter: Reporter::new(),
        signals,
    };
    let outcome = emulator.serve();
    let reporter = emulator.put_back();
    reporter.finish();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tare-agent: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Emulator {
    hosts: Vec<Host>,
    network: Option<Network>,
    taken: Option<Taken>,
    /// How often it tells of the hosts by itself, and when next.
    log: Option<(i64, i64)>,
    orders: Jobs,
    reporter: Reporter,
    signals: Signals,
}

impl Emulator {
    /// Until there are no more orders, or somebody wants an end.
    fn serve(&mut self) -> io::Result<()> {
        loop {
            while let Some(order) = self.orders.take_next::<EmulateOrder>() {
                let (id, answer) = match order {
                    Ok(order) => self.perform(order),
                    Err(why) => (0, Err(why.into())),
                };
                self.reporter.tell(&answer.unwrap_or_else(|refused| {
                    EmulateRecord::NetworkRefused {
                        id,
                        message: refused.message,
                        hint: refused.hint,
                    }
                }));
                self.look_after();
            }
            if self.orders.ended || self.reporter.is_lost() {
                return Ok(());
            }
            let [input, signal] = watch::poll([STDIN, self.signals.as_raw_fd()], self.deadline())?;
            // What is due comes before what is new.
            self.look_after();
            if input {
                self.orders.feed();
            }
            if signal && self.signals.take().is_some() {
                return Ok(());
            }
        }
    }

    fn deadline(&self) -> Option<i64> {
        let looks = self.hosts.iter().map(Host::look_ns);
        let log = self.log.map_or(i64::MAX, |(_, next)| next);
        let next = looks.min().unwrap_or(i64::MAX).min(log);
        (next < i64::MAX).then_some(next)
    }

    fn perform(&mut self, order: EmulateOrder) -> (u64, Result<EmulateRecord, Refused>) {
        match order {
            EmulateOrder::BuildNetwork {
                id,
                name,
                hosts,
                subnet,
            } => (id, self.build(id, &name, hosts, &subnet)),
            EmulateOrder::TakeInterface {
                id,
                name,
                interface,
            } => (id, self.take(id, &name, &interface)),
            EmulateOrder::AddPort { id, host, end } => (id, self.add_port(id, host, &end)),
            EmulateOrder::RemovePort { id, port } => (id, self.remove_port(id, port)),
            EmulateOrder::ShapeHosts { id, hosts } => (id, self.shape(id, &hosts)),
            EmulateOrder::LookAtHosts { id } => (id, Ok(self.states(Some(id)))),
            EmulateOrder::LogHosts { id, every_ns } => (id, self.log_every(id, every_ns)),
        }
    }

    fn build(
        &mut self,
        id: u64,
        name: &str,
        count: u32,
        subnet: &str,
    ) -> Result<EmulateRecord, Refused> {
        self.expect_none()?;
        orders::check_name(name)?;
        let subnet = orders::subnet(subnet)?;
        if !(1..=HOSTS).contains(&count) {
            return Err(format!("a network has 1 to {HOSTS} hosts, not {count}").into());
        }
        let named = rights::obtain()?;
        namespace::probe()?;
        let (network, hosts) = Network::build(name, count, subnet, named)?;
        (self.network, self.hosts) = (Some(network), hosts);
        Ok(self.begin(id))
    }

    fn take(&mut self, id: u64, name: &str, interface: &str) -> Result<EmulateRecord, Refused> {
        self.expect_none()?;
        orders::check_name(name)?;
        rights::require(interface)?;
        namespace::probe()?;
        let (taken, host) = Taken::take(name, interface)?;
        (self.taken, self.hosts) = (Some(taken), vec![host]);
        Ok(self.begin(id))
    }

    fn add_port(&mut self, id: u64, host: u32, end: &PortEnd) -> Result<EmulateRecord, Refused> {
        let port = self.built()?.add_port(host, end)?;
        Ok(EmulateRecord::PortAdded { id, port })
    }

    fn remove_port(&mut self, id: u64, port: u32) -> Result<EmulateRecord, Refused> {
        self.built()?.remove_port(port)?;
        Ok(EmulateRecord::NetworkShaped { id })
    }

    fn built(&mut self) -> Result<&mut Network, Refused> {
        let none = || "no network was built to which a port could be added".to_string();
        Ok(self.network.as_mut().ok_or_else(none)?)
    }

    /// What is left to do when the hosts are there.
    fn begin(&mut self, id: u64) -> EmulateRecord {
        self.reporter.detach();
        hurry();
        EmulateRecord::NetworkBuilt {
            id,
            hosts: self.hosts.iter().map(|host| host.built.clone()).collect(),
        }
    }

    fn shape(&mut self, id: u64, shapes: &[HostShape]) -> Result<EmulateRecord, Refused> {
        self.expect_hosts()?;
        orders::check_shapes(shapes, self.hosts.len())?;
        let mut changed = Vec::new();
        for shape in shapes {
            let number = shape.host as usize - 1;
            changed.push((number, self.hosts[number].before()));
            if let Err(refusal) = self.hosts[number].shape(shape) {
                for (number, before) in changed {
                    // What cannot be undone either is told when it is looked at next.
                    let _ = self.hosts[number].restore(before);
                }
                return Err(format!("cannot shape host {}: {refusal}", shape.host).into());
            }
        }
        Ok(EmulateRecord::NetworkShaped { id })
    }

    fn log_every(&mut self, id: u64, every_ns: Option<u64>) -> Result<EmulateRecord, Refused> {
        /// More often nobody can read it.
        const OFTENEST_NS: u64 = 1_000_000;
        self.expect_hosts()?;
        self.log = match every_ns {
            Some(every) if every < OFTENEST_NS => {
                return Err(format!("every {every} ns is too often: at least 1 ms").into())
            }
            Some(every) => {
                let every = i64::try_from(every)
                    .unwrap_or(i64::MAX / 2)
                    .min(i64::MAX / 2);
                Some((every, clock::monotonic() + every))
            }
            None => None,
        };
        Ok(EmulateRecord::NetworkShaped { id })
    }

    fn expect_none(&self) -> Result<(), Refused> {
        match self.hosts.is_empty() {
            true => Ok(()),
            false => Err("there is a network already".to_string().into()),
        }
    }

    fn expect_hosts(&self) -> Result<(), Refused> {
        match self.hosts.is_empty() {
            true => Err("there is no network yet".to_string().into()),
            false => Ok(()),
        }
    }

    /// How the hosts are that have not failed.
    fn states(&mut self, id: Option<u64>) -> EmulateRecord {
        let at_ns = clock::monotonic() as u64;
        let hosts = self.hosts.iter_mut().filter(|host| !host.failed);
        let states = hosts.filter_map(|host| match host.state() {
            Ok(state) => Some(state),
            Err(refusal) => {
                fail(host, &refusal, &mut self.reporter);
                None
            }
        });
        EmulateRecord::HostStates {
            id,
            at_ns,
            hosts: states.collect(),
        }
    }

    /// Does what is due.
    fn look_after(&mut self) {
        let now = clock::monotonic();
        for host in &mut self.hosts {
            if host.look_ns() > now {
                continue;
            }
            if let Err(refusal) = host.tick() {
                fail(host, &refusal, &mut self.reporter);
            }
        }
        if let Some((every, next)) = self.log.filter(|(_, next)| *next <= now) {
            // A moment that was missed is left out, not made up for.
            let missed = (now - next) / every;
            self.log = Some((every, next + (missed + 1) * every));
            let states = self.states(None);
            self.reporter.mention(&states);
        }
    }

    /// Puts everything back.
    fn put_back(self) -> Reporter {
        drop(self.hosts);
        drop(self.network);
        drop(self.taken);
        self.reporter
    }
}

/// Tells that a host is not looked after any more.
fn fail(host: &mut Host, refusal: &Refusal, reporter: &mut Reporter) {
    host.failed = true;
    let (number, interface) = (host.built.host, &host.built.interface);
    let message = format!("host {number} ({interface}) is not shaped any more: {refusal}");
    reporter.tell(&EmulateRecord::NetworkFault { message });
}

/// Lets the kernel wake this process before others: what it does late is sent beyond a budget. It
/// is no matter of right or wrong, so an ordinary user goes without.
fn hurry() {
    // SAFETY: a plain structure and a plain call; a child begins as usual.
    unsafe {
        let mut parameter: libc::sched_param = std::mem::zeroed();
        parameter.sched_priority = 1;
        let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            policy,
            &raw const parameter,
        );
    }
}
