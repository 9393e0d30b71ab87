//! Trials: the resident agent, the workers that it keeps, and what is measured of each launch.

mod capture;
mod derive_metrics;
mod instrument;
mod launches;
mod limits;
mod orders;
mod perf_task;
mod perform;
mod process_outcome;
mod process_run;
mod sample_buffer;
pub mod serve;
mod worker;
mod worker_pool;
pub mod worker_process;
mod worker_trial;

pub use sample_buffer::NAMES;
