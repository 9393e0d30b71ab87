//! A worker's part of a trial that is a window of time.

use record::marker;
use record::{Phase, Window};
use sys::clock;

use crate::derive_metrics;
use crate::launches::Launches;
use crate::process_outcome::follow;
use crate::sample_buffer::{Entry, Figure};
use crate::worker::Closed;
use crate::worker_trial::{WorkerTrial, LAUNCHES};

impl WorkerTrial<'_> {
    /// A kernel's process does it all by itself; whether it went well.
    pub(super) fn work_through_window(&mut self) -> Result<bool, Closed> {
        let mut entry = Entry::new(Some(0), Phase::Measured);
        let script = self.script(1, Some(1), false);
        let ok = follow(self, &mut entry, &script, Some(1), 1)?;
        let head = self.worker.block.head();
        derive_metrics::window(&mut entry, head);
        derive_metrics::span(&mut entry, head);
        if let Some(meeting) = &self.meeting {
            entry.set(Figure::StartSkew, meeting.skew_ns(1));
        }
        self.worker.samples.push(entry);
        Ok(ok)
    }

    /// Launches a command over and over: all begin the first together, whose end opens the window.
    pub(super) fn launch_through_window(&mut self, window: &Window) -> Result<bool, Closed> {
        let mut launches = Launches::new(window);
        let mut count = 0;
        let mut used_ns = 0;
        loop {
            let phase = if count == 0 {
                Phase::Warmup
            } else {
                Phase::Measured
            };
            let round = (count == 0).then_some(1);
            // Markers count no further.
            let iteration = count.min(marker::ITERATIONS - 1);
            let mut entry = Entry::new(Some(iteration), phase);
            if !follow(self, &mut entry, &[], round, 1)? {
                self.worker.samples.push(entry);
                return Ok(false);
            }
            let end_ns = entry.get(Figure::EndAround).unwrap_or_default();
            let used = entry.get(Figure::CpuGroup).or(entry.get(Figure::CpuReaped));
            used_ns += used.unwrap_or_default();
            // What more there is, is only counted.
            if (count as usize) < LAUNCHES {
                self.worker.samples.push(entry);
            }
            count += 1;
            self.next = iteration + 1;
            if let Some(stretch) = launches.end(end_ns, used_ns + clock::process_cpu()) {
                let mut whole = Entry::new(None, Phase::Measured);
                derive_metrics::launches(&mut whole, &stretch);
                self.worker.samples.push(whole);
                return Ok(true);
            }
        }
    }
}
