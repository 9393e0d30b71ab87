//! Probes of the machine, one file each with one constant that describes it.
//!
//! A probe is performed round by round, each round in a process of its own: one value for each
//! of its metrics (at each place on its axes). A value is already what the metric's meaning says
//! it is, mostly the least over many short windows, so that what else the machine does in between
//! does not count; rounds are the units of replication, and the front puts intervals over them.
//! Nothing is allocated, formatted or written in a timed window.

mod affinity;
mod branch;
mod call;
mod chase;
mod clock;
mod cores;
mod cpu_credit;
mod cpu_frequency;
mod cpu_smt;
mod direct;
mod empty_loop;
mod fault;
mod fault_count;
mod file_cache;
mod file_cache_size;
mod file_contention;
mod file_read;
mod file_remote;
mod loopback;
mod mapped_file;
mod memory_bandwidth;
mod memory_latency;
mod memory_parallelism;
mod memory_stride;
mod memory_tlb;
mod network_bandwidth;
mod network_connect;
mod network_ping;
mod network_round_trip;
mod noise;
mod partner;
mod pipe;
mod probe;
pub mod process;
mod processes;
mod quantiles;
mod reads;
mod smallest_program;
mod steal;
mod streams;
mod switch;
mod syscall;
mod thread;
mod timing;

pub use probe::Probe;

/// Every probe, in order of name. A new one needs a line here and its `mod` above.
pub const PROBES: &[&Probe] = &[
    &branch::PROBE,
    &call::PROBE,
    &clock::PROBE,
    &cores::PROBE,
    &cpu_credit::PROBE,
    &cpu_frequency::PROBE,
    &cpu_smt::PROBE,
    &fault::PROBE,
    &file_cache::PROBE,
    &file_cache_size::PROBE,
    &file_contention::PROBE,
    &file_read::PROBE,
    &file_remote::PROBE,
    &empty_loop::PROBE,
    &memory_bandwidth::PROBE,
    &memory_latency::PROBE,
    &memory_parallelism::PROBE,
    &memory_stride::PROBE,
    &memory_tlb::PROBE,
    &network_bandwidth::PROBE,
    &network_connect::PROBE,
    &network_ping::PROBE,
    &network_round_trip::PROBE,
    &noise::PROBE,
    &processes::PROBE,
    &steal::PROBE,
    &switch::PROBE,
    &syscall::PROBE,
    &thread::PROBE,
];

/// The probe of that name.
fn find(name: &str) -> Option<&'static Probe> {
    PROBES.iter().copied().find(|probe| probe.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_metrics_begin_with_them() {
        assert!(PROBES.windows(2).all(|pair| pair[0].name < pair[1].name));
        for probe in PROBES {
            for metric in probe.metrics {
                let rest = metric.name.strip_prefix(probe.name);
                let rest = rest.expect("begins with the probe's name");
                assert!(rest.is_empty() || rest.starts_with('.'), "{}", metric.name);
                assert!(metric.margin > 0.0, "{}", metric.name);
            }
        }
    }
}
