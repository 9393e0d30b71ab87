//! What the installed `ping` reports: a reference for round trips of as many bytes.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use sys::clock;

use crate::probe::{Better, Metric, Probe, Round, Seconds};
use crate::quantiles::Times;

const LOOPBACK: &str = "network.ping.loopback";
const REMOTE: &str = "network.ping.remote";

const fn echo(name: &'static str, meaning: &'static str) -> Metric {
    Metric {
        name,
        unit: "ns",
        meaning,
        axes: &[],
        listed: false,
        better: Better::Lower,
        margin: 0.2,
    }
}

pub const PROBE: Probe = Probe {
    name: "network.ping",
    title: "round trips as ping reports them",
    question: "What does ping report for the round trip that network.round_trip measures?",
    source: Some("SYSMEASURE, round trip against ping; iputils ping"),
    metrics: &[
        echo(
            LOOPBACK,
            "reference: the round trip of an ICMP echo request of 56 bytes to 127.0.0.1, as the \
             installed ping prints it, to 1 µs (ping -A -s 56: the next request follows a reply, \
             or after the least interval that the user may have); median of the round's replies. \
             Absent where ping is not installed",
        ),
        echo(REMOTE, "the same to the peer's address"),
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.03),
        whole: Some(0.2),
    },
    repeats: true,
    needs: &[],
    perform,
};

/// Where ping is looked for: the process of a round has no environment.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
/// Replies that a round waits for at most.
const REPLIES: usize = 200;
/// Seconds after which ping itself ends: a peer may drop echo requests.
const DEADLINE: &str = "1";

fn perform(round: &Round) -> Result<(), String> {
    let mut targets = vec![(LOOPBACK, "127.0.0.1".to_string())];
    if let Some(peer) = &round.job.peer {
        let address: Result<SocketAddr, _> = peer.address.parse();
        let address = address.map_err(|error| format!("{}: {error}", peer.address))?;
        targets.push((REMOTE, address.ip().to_string()));
    }
    let budget_ns = round.budget_ns() / targets.len() as i64;
    for (metric, address) in targets {
        match ping("ping", &address, budget_ns) {
            Ok(median) => round.read(metric, median),
            Err(why) => round.unavailable(metric, why),
        }
    }
    Ok(())
}

/// Median of the times that ping prints, in nanoseconds.
fn ping(program: &str, address: &str, budget_ns: i64) -> Result<f64, String> {
    let mut command = Command::new(program);
    command.args(["-n", "-A", "-s", "56", "-w", DEADLINE]);
    command.args(["-c", &REPLIES.to_string(), address]);
    command.env("PATH", PATH).env("LC_ALL", "C");
    command.stdin(Stdio::null());
    let spawned = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = spawned.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "ping is not installed here (iputils-ping)".to_string(),
        _ => format!("ping: {error}"),
    })?;
    let mut ping = Ended(child);
    let times = replies(ping.0.stdout.take().expect("piped"), budget_ns);
    if times.count() > 0 {
        return Ok(times.sort().quantile(0.5));
    }
    let mut said = String::new();
    let errors = ping.0.stderr.take().expect("piped");
    let _ = errors.take(400).read_to_string(&mut said);
    Err(match said.trim() {
        "" => format!("ping {address}: no reply"),
        said => said.to_string(),
    })
}

/// Times of the replies that ping prints within a budget; the first one at least is waited for.
fn replies(output: impl Read, budget_ns: i64) -> Times {
    let end = clock::monotonic() + budget_ns;
    let mut times = Times::with_room(REPLIES);
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if let Some(nanoseconds) = reply_ns(&line) {
            times.add(nanoseconds);
            if clock::monotonic() >= end {
                break;
            }
        }
    }
    times
}

/// The time in a line such as `64 bytes from 127.0.0.1: icmp_seq=2 ttl=64 time=0.023 ms`.
fn reply_ns(line: &str) -> Option<i64> {
    let (_, time) = line.split_once(" time=")?;
    let milliseconds: f64 = time.split_whitespace().next()?.parse().ok()?;
    Some((milliseconds * 1e6) as i64)
}

/// A process that is killed when it is dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
PING 127.0.0.1 (127.0.0.1) 56(84) bytes of data.
64 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.245 ms
64 bytes from 127.0.0.1: seq=2 ttl=64 time=0.006 ms
64 bytes from 127.0.0.1: icmp_seq=3 ttl=64 time=12 ms

--- 127.0.0.1 ping statistics ---
3 packets transmitted, 3 received, 0% packet loss, time 0ms
rtt min/avg/max/mdev = 0.006/4.083/12/0.096 ms
";

    #[test]
    fn times_are_read_as_ping_prints_them() {
        let times = replies(PRINTED.as_bytes(), i64::MAX / 2);
        assert_eq!(times.count(), 3);
        assert_eq!(times.sort().quantile(0.5), 245_000.0);
    }

    /// Runs a script in place of ping.
    fn instead_of_ping(name: &str, script: &str) -> Result<f64, String> {
        let path = std::env::temp_dir().join(format!("tare-{name}-{}", std::process::id()));
        std::fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&path, mode).unwrap();
        let answer = ping(path.to_str().unwrap(), "192.0.2.1", i64::MAX / 2);
        std::fs::remove_file(&path).unwrap();
        answer
    }

    #[test]
    fn the_median_is_of_what_the_program_prints_for_56_bytes() {
        let script = format!("case \"$*\" in *'-s 56 '*192.0.2.1) cat <<'END'\n{PRINTED}END\nesac");
        assert_eq!(instead_of_ping("prints", &script), Ok(245_000.0));
    }

    #[test]
    fn a_program_that_fails_is_quoted_and_one_that_is_not_there_named() {
        let refused = instead_of_ping("refused", "echo 'socket: not permitted' >&2; exit 2");
        assert_eq!(refused, Err("socket: not permitted".to_string()));
        let silent = instead_of_ping("silent", "exit 1");
        assert_eq!(silent, Err("ping 192.0.2.1: no reply".to_string()));
        let missing = ping("no-such-ping", "127.0.0.1", 0).unwrap_err();
        assert!(missing.contains("not installed"), "{missing}");
    }

    #[test]
    fn one_reply_is_waited_for_whatever_the_budget() {
        assert_eq!(replies(PRINTED.as_bytes(), -1).count(), 1);
    }

    #[test]
    fn a_line_without_a_time_is_none() {
        for line in [
            "",
            "time=",
            " time=x ms",
            "From 192.0.2.1 icmp_seq=1 Unreachable",
        ] {
            assert_eq!(reply_ns(line), None, "{line}");
        }
    }
}
