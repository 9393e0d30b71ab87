//! The measuring half of tare: one static binary that is copied to wherever the measuring is.

mod describe;
mod enter;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use lexopt::prelude::*;
use record::schema;
use sandbox::root::Shown;
use sandbox::{guest, setup, shed};
use services::{attend, supervise};
use sys::topology;
use transfer::{measure, meet, peer};
use trial::{serve, worker_process};

const USAGE: &str = "\
tare-agent: the measuring half of tare

  tare-agent serve [--name NAME]     perform the jobs of standard input, one JSON object a line
  tare-agent observe [--teardown]    stamp what others launch, as the kernel sees it
  tare-agent peer --bind ADDRESS:PORT --key-file FILE
                                     be the other end of network probes
      [--longest SECONDS] [--streams N] [--bytes N] [--total-bytes N] [--log FILE]
                                     and of measurements of a network, no longer, with no more
                                     data streams at once and no more bytes each, and in all;
                                     who came is logged
  tare-agent measure                 measure a network by the orders of standard input
  tare-agent nest --name NAME --spec JSON -- COMMAND…
                                     make what a layer needs, run a command inside, undo it all
  tare-agent emulate [--name NAME]   make and shape a network by the orders of standard input
  tare-agent release --interface NAME
                                     take off an interface what a killed emulate left on it
  tare-agent enter [--network PATH] [--loopback] [--hide LIST] [--root DIR] -- COMMAND…
                                     run a command in a network namespace, with the loopback of
                                     its network up, without the files that a list names, or
                                     with those of a directory in the place of the machine's
      [--read INSIDE=OUTSIDE]… [--write INSIDE=OUTSIDE]…
                                     and these of the machine beside them
  tare-agent meet --bind ADDRESS     wait on a host for `meet_host` of another one, reach it as well
  tare-agent supervise               start the services of an environment, report that they are ready,
                                     end them when asked
  tare-agent attend --bind ADDRESS   wait on a host for `supervise` of another one, pass lines on
  tare-agent shed -- COMMAND…        run a command as root of the sandbox around it, and nothing else
  tare-agent truth NAME NUMBER       do what it knows the truth of, and tell it
  tare-agent columns                 convert delimited text of standard input to typed columns
  tare-agent describe                print kernels and metrics as JSON
  tare-agent schema                  print the schema of jobs and records
  tare-agent topology [--sysfs DIR]  print the machine's processors as JSON
  tare-agent --version
";

fn main() -> ExitCode {
    if guest::is_first() {
        guest::run();
    }
    // These stamp themselves before they do anything else.
    let first = std::env::args_os().nth(1).unwrap_or_default();
    if first == "kernel" {
        return kernels::process::run();
    }
    if first == "truth" {
        return reference_programs::run();
    }
    match arguments().and_then(run) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("tare-agent: {error}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

#[derive(Default)]
struct Arguments {
    command: String,
    name: Option<String>,
    number: u32,
    alone: bool,
    teardown: bool,
    sysfs: Option<PathBuf>,
    bind: Option<String>,
    key_file: Option<PathBuf>,
    log: Option<PathBuf>,
    limits: peer::measuring::Limits,
    spec: String,
    inside: Vec<String>,
    enter: enter::Places,
    shown: Vec<Shown>,
    interface: Option<String>,
    entering: Vec<OsString>,
}

fn arguments() -> Result<Arguments, lexopt::Error> {
    let mut given = Arguments::default();
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Value(word) if given.command.is_empty() => given.command = word.string()?,
            Value(word) if given.command == "nest" => given.inside.push(word.string()?),
            Value(word) if matches!(given.command.as_str(), "enter" | "shed") => {
                given.entering.push(word);
            }
            Short('V') | Long("version") => given.command = "version".to_string(),
            Short('h') | Long("help") => given.command = "help".to_string(),
            Long("name") => given.name = Some(parser.value()?.string()?),
            Long("number") => given.number = parser.value()?.parse()?,
            Long("alone") => given.alone = true,
            Long("bind") => given.bind = Some(parser.value()?.string()?),
            Long("key-file") => given.key_file = Some(parser.value()?.into()),
            Long("log") => given.log = Some(parser.value()?.into()),
            Long("total-bytes") => given.limits.total_bytes = parser.value()?.parse()?,
            Long("longest") => {
                let seconds: u32 = parser.value()?.parse()?;
                given.limits.longest_ns = i64::from(seconds) * 1_000_000_000;
            }
            Long("streams") => given.limits.streams = parser.value()?.parse()?,
            Long("bytes") => given.limits.bytes = parser.value()?.parse()?,
            Long("spec") => given.spec = parser.value()?.string()?,
            Long("teardown") => given.teardown = true,
            Long("interface") => given.interface = Some(parser.value()?.string()?),
            Long("network") => given.enter.network = Some(parser.value()?.into()),
            Long("loopback") => given.enter.loopback = true,
            Long("hide") => given.enter.hidden = Some(parser.value()?.into()),
            Long("root") => given.enter.root.get_or_insert_default().path = parser.value()?.into(),
            Long("read") => given.shown.push(Shown::parse(parser.value()?, false)?),
            Long("write") => given.shown.push(Shown::parse(parser.value()?, true)?),
            Long("sysfs") => given.sysfs = Some(parser.value()?.into()),
            other => return Err(other.unexpected()),
        }
    }
    Ok(given)
}

fn run(given: Arguments) -> Result<ExitCode, lexopt::Error> {
    match given.command.as_str() {
        "serve" => {
            let own = || format!("tare-{}", std::process::id());
            return Ok(serve::run(given.name.unwrap_or_else(own)));
        }
        "observe" => return Ok(observer::run(given.teardown)),
        "peer" => {
            let (bind, key_file) = (given.bind.as_deref(), given.key_file.as_deref());
            let log = given.log.as_deref();
            return Ok(peer::run(bind, key_file, log, given.limits));
        }
        "measure" => return Ok(measure::run()),
        "nest" => {
            let name = given.name.ok_or("nest needs --name")?;
            return Ok(setup::run(&name, &given.spec, &given.inside));
        }
        // Its name is for whoever looks for what a session left.
        "emulate" => return Ok(emulation::run()),
        "release" => {
            let interface = given.interface.ok_or("release needs --interface")?;
            emulation::taken::run(&interface)?;
        }
        "enter" => {
            let mut places = given.enter;
            if let Some(root) = &mut places.root {
                root.shown = given.shown;
            } else if !given.shown.is_empty() {
                return Err("--read and --write are seen beside a --root".into());
            } else if places.network.is_none() && !places.loopback && places.hidden.is_none() {
                return Err("enter needs --network, --loopback, --hide or --root".into());
            }
            return Ok(enter::run(&places, &given.entering));
        }
        "meet" => {
            let bind = given.bind.ok_or("meet needs --bind")?;
            let address = bind.parse().map_err(|_| "--bind: no address")?;
            return Ok(meet::run(address));
        }
        "supervise" => {
            let taken = [services::SPECIFICATION, services::KEY].map(|name| {
                let value = std::env::var(name).unwrap_or_default();
                std::env::remove_var(name);
                value
            });
            return Ok(supervise::run(&taken[0], &taken[1]));
        }
        "attend" => {
            let bind = given.bind.ok_or("attend needs --bind")?;
            let address = bind.parse().map_err(|_| "--bind: no address")?;
            return Ok(attend::run(address));
        }
        "shed" => return Ok(shed::run(&given.entering)),
        "columns" => return Ok(tables::run()),
        // Started by `serve` alone.
        "worker" => {
            let name = given.name.unwrap_or_default();
            return Ok(worker_process::run(&name, given.number, given.alone));
        }
        "probe" => return Ok(probes::process::run()),
        // The emptiest program there is everywhere.
        "nothing" => {}
        "describe" => describe::run(),
        "schema" => schema::run(),
        "topology" => {
            let sysfs = given.sysfs.unwrap_or_else(|| topology::LIVE.into());
            topology::run(&sysfs).map_err(lexopt::Error::from)?;
        }
        "version" => println!("tare-agent {}", env!("CARGO_PKG_VERSION")),
        "help" => print!("{USAGE}"),
        "" => return Err("what shall it do?".into()),
        other => return Err(format!("there is no {other:?}").into()),
    }
    Ok(ExitCode::SUCCESS)
}
