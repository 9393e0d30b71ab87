//! What the command line says.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::*;

use crate::database::Target;
use crate::schedule::{Arrivals, Load, Starts};

pub const USAGE: &str = "\
tare-cql: load generator for Cassandra

  tare-cql load --host ADDRESS [--port PORT] [--keys N]
        create the table and write every key once
  tare-cql run --host ADDRESS --rate N|--users N --seconds N --out FILE
        [--port PORT] [--keys N] [--writes PERCENT] [--in-flight N]
        [--arrivals constant|poisson] [--seed N] [--timeout SECONDS] [--warm-up SECONDS]
        read or write one key in each operation, and write one row per operation to FILE:
        intended_ns,start_ns,duration_ns,label,error
  tare-cql collections --host ADDRESS [--port PORT]
        print the garbage collections that the server has logged so far, as one line of JSON

  --host ADDRESS       address of the server, IPv4 or IPv6
  --port PORT          its port (9042)
  --keys N             how many keys there are (10000)
  --rate N             open load: operations a second, which start at times computed beforehand
  --users N            closed load: each of N users starts an operation when its last one has ended
  --seconds N          for how long
  --writes PERCENT     how many of them write (25)
  --in-flight N        open load: operations under way at most (100); more of them wait, and are late
  --arrivals KIND      open load: constant (default), or poisson: at random times, as many in all
  --seed N             of times, kinds and keys (0)
  --timeout SECONDS    after which an operation has failed (10)
  --warm-up SECONDS    for how long operations of the same kinds and rate come before, which are
                       not recorded (0)
  --out FILE           where the operations are written
";

/// What it is asked to do.
#[derive(Debug, PartialEq)]
pub enum Command {
    Help,
    Version,
    Load(Target, u32),
    Run(Target, Run),
    Collections(Target),
}

/// What a run does, and where it writes what it did.
#[derive(Debug, PartialEq)]
pub struct Run {
    pub load: Load,
    pub seed: u64,
    pub in_flight: u32,
    pub warm_up_s: f64,
    pub out: PathBuf,
}

/// Reads the arguments after the program's name.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    read(arguments).map_err(|error| format!("{error}; tare-cql --help lists all arguments"))
}

fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, lexopt::Error> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut command = None;
    let (mut host, mut rate, mut users, mut seconds, mut out) = (None, None, None, None, None);
    let (mut port, mut keys, mut in_flight) = (9042, 10_000, 100);
    let (mut writes, mut seed, mut timeout_s, mut warm_up_s) = (25.0, 0, 10.0, 0.0);
    let mut arrivals = Arrivals::Constant;
    while let Some(argument) = parser.next()? {
        match argument {
            Value(word) if command.is_none() => command = Some(word.string()?),
            Short('h') | Long("help") => return Ok(Command::Help),
            Short('V') | Long("version") => return Ok(Command::Version),
            Long("host") => host = Some(parser.value()?.parse::<IpAddr>()?),
            Long("port") => port = parser.value()?.parse()?,
            Long("keys") => keys = within("--keys", parser.value()?.parse()?, 1, 1 << 31)?,
            Long("rate") => rate = Some(within("--rate", parser.value()?.parse()?, 0.01, 1e6)?),
            Long("users") => users = Some(within("--users", parser.value()?.parse()?, 1, 10_000)?),
            Long("seconds") => {
                seconds = Some(within("--seconds", parser.value()?.parse()?, 0.1, 1e6)?);
            }
            Long("writes") => writes = within("--writes", parser.value()?.parse()?, 0.0, 100.0)?,
            Long("in-flight") => {
                in_flight = within("--in-flight", parser.value()?.parse()?, 1, 10_000)?;
            }
            Long("arrivals") => arrivals = parser.value()?.parse_with(arrivals_of)?,
            Long("seed") => seed = parser.value()?.parse()?,
            Long("timeout") => {
                timeout_s = within("--timeout", parser.value()?.parse()?, 0.001, 3600.0)?;
            }
            Long("warm-up") => {
                warm_up_s = within("--warm-up", parser.value()?.parse()?, 0.0, 3600.0)?;
            }
            Long("out") => out = Some(PathBuf::from(parser.value()?)),
            other => return Err(other.unexpected()),
        }
    }
    let target = |host: Option<IpAddr>| {
        Ok::<_, lexopt::Error>(Target {
            address: SocketAddr::new(host.ok_or("--host ADDRESS is missing")?, port),
            timeout: Duration::from_secs_f64(timeout_s),
            in_flight,
        })
    };
    match command.as_deref() {
        Some("load") => Ok(Command::Load(target(host)?, keys)),
        Some("run") => Ok(Command::Run(
            target(host)?,
            Run {
                load: Load {
                    starts: match (rate, users) {
                        (Some(rate), None) => Starts::Open { rate, arrivals },
                        (None, Some(users)) => Starts::Closed { users },
                        (None, None) => return Err("--rate N or --users N is missing".into()),
                        _ => return Err("--rate and --users exclude each other".into()),
                    },
                    seconds: seconds.ok_or("--seconds N is missing")?,
                    writes: writes / 100.0,
                    keys,
                },
                seed,
                in_flight,
                warm_up_s,
                out: out.ok_or("--out FILE is missing")?,
            },
        )),
        Some("collections") => Ok(Command::Collections(target(host)?)),
        Some(other) => {
            Err(format!("there is no command {other:?}, but load, run and collections").into())
        }
        None => Err("a command is missing: load, run or collections".into()),
    }
}

fn arrivals_of(text: &str) -> Result<Arrivals, String> {
    match text {
        "constant" => Ok(Arrivals::Constant),
        "poisson" => Ok(Arrivals::Poisson),
        _ => Err("expected constant or poisson".to_string()),
    }
}

fn within<T: PartialOrd + std::fmt::Display>(
    option: &str,
    value: T,
    least: T,
    most: T,
) -> Result<T, lexopt::Error> {
    // What is not a number is in no range.
    if value >= least && value <= most {
        return Ok(value);
    }
    Err(format!("{option} is {value}, expected {least} to {most}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn a_run_has_defaults() {
        let found = parsed("run --host 127.0.0.1 --rate 1000 --seconds 2.5 --out /tmp/r.csv");
        let Ok(Command::Run(target, run)) = found else {
            panic!("{found:?}");
        };
        assert_eq!(target.address, "127.0.0.1:9042".parse().unwrap());
        assert_eq!(target.timeout, Duration::from_secs(10));
        assert_eq!(
            run,
            Run {
                load: Load {
                    starts: Starts::Open {
                        rate: 1000.0,
                        arrivals: Arrivals::Constant,
                    },
                    seconds: 2.5,
                    writes: 0.25,
                    keys: 10_000,
                },
                seed: 0,
                in_flight: 100,
                warm_up_s: 0.0,
                out: "/tmp/r.csv".into(),
            }
        );
    }

    #[test]
    fn every_option_is_read() {
        let found = parsed(
            "run --host ::1 --port 9 --rate 0.5 --seconds 60 --out r --keys 5 --writes 0 \
             --in-flight 1 --arrivals poisson --seed 7 --timeout 0.5 --warm-up 3",
        );
        let Ok(Command::Run(target, run)) = found else {
            panic!("{found:?}");
        };
        assert_eq!(target.address, "[::1]:9".parse().unwrap());
        assert_eq!(target.timeout, Duration::from_millis(500));
        assert_eq!((run.seed, run.in_flight, run.load.keys), (7, 1, 5));
        let arrivals = Arrivals::Poisson;
        assert_eq!(
            run.load.starts,
            Starts::Open {
                rate: 0.5,
                arrivals
            }
        );
        assert_eq!((run.load.writes, run.warm_up_s), (0.0, 3.0));
    }

    #[test]
    fn loading_needs_no_rate() {
        let found = parsed("load --host 10.0.0.1 --keys 20");
        assert!(matches!(found, Ok(Command::Load(_, 20))), "{found:?}");
    }

    #[test]
    fn users_are_a_closed_load() {
        let found = parsed("run --host ::1 --users 100 --seconds 1 --out r");
        let Ok(Command::Run(_, run)) = found else {
            panic!("{found:?}");
        };
        assert_eq!(run.load.starts, Starts::Closed { users: 100 });
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, said) in [
            ("", "a command is missing"),
            ("walk", "no command \"walk\""),
            (
                "run --rate 1 --seconds 1 --out r",
                "--host ADDRESS is missing",
            ),
            (
                "run --host 1.2.3.4 --seconds 1 --out r",
                "--rate N or --users N is missing",
            ),
            (
                "run --host 1.2.3.4 --rate 1 --users 1 --seconds 1 --out r",
                "--rate and --users exclude each other",
            ),
            (
                "run --host 1.2.3.4 --rate 1 --out r",
                "--seconds N is missing",
            ),
            (
                "run --host 1.2.3.4 --rate 1 --seconds 1",
                "--out FILE is missing",
            ),
            ("run --host localhost", "localhost"),
            ("run --rate 0", "--rate is 0, expected 0.01 to 1000000"),
            ("run --rate NaN", "--rate is NaN"),
            ("run --writes 101", "--writes is 101, expected 0 to 100"),
            ("run --in-flight 0", "--in-flight is 0, expected 1 to 10000"),
            ("run --keys -1", "-1"),
            ("run --arrivals often", "expected constant or poisson"),
            ("run --often", "--often"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
            assert!(error.ends_with("tare-cql --help lists all arguments"));
        }
    }
}
