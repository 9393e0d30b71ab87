//! What a kernel's process is told to do.

use std::collections::BTreeMap;
use std::os::fd::{FromRawFd, OwnedFd};

use record::Window;
use serde::{Deserialize, Serialize};

use crate::inherited::MEETING_FD;
use crate::rendezvous::Rendezvous;

/// What a worker tells a kernel's process.
#[derive(Debug, Serialize, Deserialize)]
pub struct Script {
    pub name: String,
    pub parameters: BTreeMap<String, u64>,
    pub repetitions: u64,
    pub seed: u64,
    /// Executions in this process, each with a slot in the block.
    pub executions: u32,
    /// Instead of these: over and over through a window of time.
    pub window: Option<Window>,
    pub meeting: Option<Meeting>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Meeting {
    pub party: u32,
    pub parties: u32,
    /// Round of the first execution; absent: unmeasured, nobody is met.
    pub round: Option<u32>,
    /// Keep the load on after the last execution until all have finished.
    pub tail: bool,
}

impl Meeting {
    /// In the process of a kernel: joins by the memory that its worker handed down.
    pub fn join(&self) -> Result<Rendezvous, String> {
        // SAFETY: the worker that launched us put the file there.
        let file = unsafe { OwnedFd::from_raw_fd(MEETING_FD) };
        Rendezvous::of(file, self.party, self.parties)
    }
}
