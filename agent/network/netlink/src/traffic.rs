//! What leaves an interface: queueing disciplines, their one class, and what they count.
//!
//! Shaped is an interface by htb with one class that never borrows (rate = ceil), and in it a queue
//! that is bounded in bytes (bfifo). htb wraps its `burst` silently at 2^32 ticks, so no budget is
//! ever put into it: it gets a few milliseconds' worth, and whoever keeps a budget changes the rate.

use super::message::{attribute, text, u32_at, u64_at, Message};
use super::{Refusal, Socket};

/// Handles that nobody else would choose: of the discipline that only counts, of the one that
/// shapes, its class, and of the queue in it.
pub const COUNTING: u32 = 0x7a7d_0000;
pub const SHAPING: u32 = 0x7a7e_0000;
const CLASS: u32 = SHAPING | 1;
const QUEUE: u32 = 0x7a7f_0000;

/// A class may send so much at once after a pause in which it sent nothing or could not be served:
/// as much as its rate in that time, so that a late timer of the kernel costs no rate. On a machine
/// with four times the load that it has CPUs, rates are within 0.1 %, with 4 ms short by up to 2 %.
const BURST_NS: u64 = 10_000_000;
/// The largest packet that the kernel cuts only later, with the headers of its pieces.
pub const LARGEST_BYTES: u64 = 72_000;
/// The kernel's clock of bursts goes by so much, and what it counts has 32 bits.
const TICK_NS: u64 = 64;
/// After so long without a packet the kernel forgets what it owes or is owed anyway.
const LONGEST_BURST_NS: u64 = 60_000_000_000;
/// Above this the kernel's arithmetic of rates is not within a thousandth any more.
pub const FASTEST_BPS: u64 = 100_000_000_000_000;

/// struct tcmsg: family, interface, handle, parent, info.
const FIXED: usize = 20;
const CREATE: u16 = libc::NLM_F_CREATE as u16;
const REPLACE: u16 = libc::NLM_F_REPLACE as u16;
const ROOT: u32 = 0xffff_ffff;

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;

/// What a discipline has counted since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    pub sent_bytes: u64,
    /// Wraps.
    pub dropped: u32,
    pub waiting_bytes: u32,
}

/// Bytes a second of a rate in bits, as the kernel takes it; never none at all.
pub fn bytes_ps(rate_bps: u64) -> u64 {
    (rate_bps / 8 + u64::from(rate_bps % 8 >= 4)).max(1)
}

/// How much may leave at once at a rate.
pub fn burst_bytes(rate_bps: u64) -> u64 {
    let at_rate = u128::from(bytes_ps(rate_bps)) * u128::from(BURST_NS) / 1_000_000_000;
    u64::try_from(at_rate)
        .unwrap_or(u64::MAX)
        .max(LARGEST_BYTES)
}

/// Shapes an interface: replaces its root.
pub fn shape(socket: &mut Socket, index: u32, rate_bps: u64, limit: u32) -> Result<(), Refusal> {
    socket.order(root(index))?;
    socket.order(class(index, CREATE, rate_bps))?;
    expect_rate(socket, index, rate_bps)?;
    set_limit(socket, index, limit)
}

/// Lets an interface send as fast as it goes, and counts; replaces its root.
pub fn count(socket: &mut Socket, index: u32, limit: u32) -> Result<(), Refusal> {
    socket.order(queue(index, ROOT, COUNTING, limit))
}

/// Changes the rate of an interface that is shaped; what waits goes on waiting.
pub fn set_rate(socket: &mut Socket, index: u32, rate_bps: u64) -> Result<(), Refusal> {
    socket.order(class(index, 0, rate_bps))?;
    expect_rate(socket, index, rate_bps)
}

/// Changes how much may wait on an interface that is shaped.
pub fn set_limit(socket: &mut Socket, index: u32, limit: u32) -> Result<(), Refusal> {
    socket.order(queue(index, CLASS, QUEUE, limit))?;
    expect_limit(socket, index, limit)
}

/// Removes a root of ours, so that the kernel puts back its default.
pub fn remove(socket: &mut Socket, index: u32, handle: u32) -> Result<(), Refusal> {
    socket.order(Message::new(
        libc::RTM_DELQDISC,
        0,
        &fixed(index, handle, ROOT),
    ))
}

/// The root of an interface: kind and handle, which is 0 for what the kernel put there by itself;
/// None: there is nothing that the kernel would show.
pub fn root_of(socket: &mut Socket, index: u32) -> Result<Option<(String, u32)>, Refusal> {
    match socket.ask(Message::new(libc::RTM_GETQDISC, 0, &fixed(index, 0, ROOT))) {
        Ok(reply) => {
            let kind = attribute(reply.after(FIXED), TCA_KIND).ok_or_else(strange)?;
            Ok(Some((
                text(kind),
                u32_at(&reply.body, 8).ok_or_else(strange)?,
            )))
        }
        Err(refusal) if matches!(refusal.errno, libc::EINVAL | libc::ENOENT) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

/// What the root has counted, if it still has this handle; 0: whatever it has.
pub fn counted(socket: &mut Socket, index: u32, handle: u32) -> Result<Counted, Refusal> {
    let reply = socket.ask(Message::new(
        libc::RTM_GETQDISC,
        0,
        &fixed(index, handle, ROOT),
    ))?;
    counts(reply.after(FIXED)).ok_or_else(strange)
}

fn counts(body: &[u8]) -> Option<Counted> {
    let stats = attribute(body, TCA_STATS2)?;
    let queue = attribute(stats, TCA_STATS_QUEUE)?;
    Some(Counted {
        sent_bytes: u64_at(attribute(stats, TCA_STATS_BASIC)?, 0)?,
        waiting_bytes: u32_at(queue, 4)?,
        dropped: u32_at(queue, 8)?,
    })
}

/// Asks what the kernel has really taken: it wraps silently what it has no room for.
fn expect_rate(socket: &mut Socket, index: u32, rate_bps: u64) -> Result<(), Refusal> {
    let reply = socket.ask(Message::new(
        libc::RTM_GETTCLASS,
        0,
        &fixed(index, CLASS, 0),
    ))?;
    let rates = class_rates(reply.after(FIXED)).ok_or_else(strange)?;
    let asked = bytes_ps(rate_bps);
    if rates != (asked, asked) {
        return Err(unlike("rate", asked, rates.0.min(rates.1)));
    }
    Ok(())
}

/// The same for how much may wait.
fn expect_limit(socket: &mut Socket, index: u32, limit: u32) -> Result<(), Refusal> {
    let reply = socket.ask(Message::new(libc::RTM_GETQDISC, 0, &fixed(index, QUEUE, 0)))?;
    let body = reply.after(FIXED);
    let options = attribute(body, TCA_OPTIONS).ok_or_else(strange)?;
    match u32_at(options, 0).ok_or_else(strange)? {
        found if found == limit => Ok(()),
        found => Err(unlike("queue", limit.into(), found.into())),
    }
}

/// Rate and ceil of an htb class, bytes a second.
fn class_rates(body: &[u8]) -> Option<(u64, u64)> {
    let options = attribute(body, TCA_OPTIONS)?;
    let parms = attribute(options, TCA_HTB_PARMS)?;
    // struct tc_ratespec has its rate at the end, and is 12 bytes long.
    let of = |wide: u16, offset: usize| {
        let wide = attribute(options, wide).and_then(|value| u64_at(value, 0));
        wide.or_else(|| u32_at(parms, offset).map(u64::from))
    };
    Some((of(TCA_HTB_RATE64, 8)?, of(TCA_HTB_CEIL64, 20)?))
}

fn root(index: u32) -> Message {
    // struct tc_htb_glob: version, quantum by rate, default class, debug, packets past the class.
    let glob = [3u32, 10, CLASS & 0xffff, 0, 0]
        .map(u32::to_ne_bytes)
        .concat();
    Message::new(
        libc::RTM_NEWQDISC,
        CREATE | REPLACE,
        &fixed(index, SHAPING, ROOT),
    )
    .text(TCA_KIND, "htb")
    .nest(TCA_OPTIONS, |options| options.bytes(TCA_HTB_INIT, &glob))
}

fn class(index: u32, flags: u16, rate_bps: u64) -> Message {
    let rate = bytes_ps(rate_bps);
    Message::new(libc::RTM_NEWTCLASS, flags, &fixed(index, CLASS, SHAPING))
        .text(TCA_KIND, "htb")
        .nest(TCA_OPTIONS, |options| {
            options
                .u64(TCA_HTB_RATE64, rate)
                .u64(TCA_HTB_CEIL64, rate)
                .bytes(TCA_HTB_PARMS, &parms(rate_bps))
        })
}

/// struct tc_htb_opt: rate, ceil, burst and cburst in ticks, quantum, level, priority.
fn parms(rate_bps: u64) -> Vec<u8> {
    let narrow = u32::try_from(bytes_ps(rate_bps)).unwrap_or(u32::MAX);
    // Ethernet, without tables: kernels since 3.8 compute; no overhead beside the packet.
    let mut spec = vec![0, 1, 0, 0, 0, 0, 0, 0];
    spec.extend(narrow.to_ne_bytes());
    let burst_ns = u128::from(burst_bytes(rate_bps)) * 1_000_000_000;
    let burst_ns = burst_ns / u128::from(bytes_ps(rate_bps));
    let burst_ns = u64::try_from(burst_ns)
        .unwrap_or(u64::MAX)
        .min(LONGEST_BURST_NS);
    let ticks = (burst_ns / TICK_NS) as u32;
    // The quantum matters between classes alone, but the kernel complains of a strange one.
    const QUANTUM: u32 = 60_000;
    let rest = [ticks, ticks, QUANTUM, 0, 0].map(u32::to_ne_bytes).concat();
    [&spec[..], &spec, &rest].concat()
}

fn queue(index: u32, parent: u32, handle: u32, limit: u32) -> Message {
    Message::new(
        libc::RTM_NEWQDISC,
        CREATE | REPLACE,
        &fixed(index, handle, parent),
    )
    .text(TCA_KIND, "bfifo")
    .bytes(TCA_OPTIONS, &limit.to_ne_bytes())
}

fn fixed(index: u32, handle: u32, parent: u32) -> Vec<u8> {
    [0, index, handle, parent, 0].map(u32::to_ne_bytes).concat()
}

fn strange() -> Refusal {
    Refusal {
        errno: libc::EPROTO,
        said: Some("an answer that lacks what was asked".to_string()),
    }
}

fn unlike(what: &str, asked: u64, found: u64) -> Refusal {
    Refusal {
        errno: libc::ERANGE,
        said: Some(format!(
            "the kernel took {found} B for a {what} of {asked} B"
        )),
    }
}

#[cfg(test)]
mod tests;
