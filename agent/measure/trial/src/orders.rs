//! What the main process asks of a worker.

use record::Trial;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Perform the part of a trial's worker with this index.
    Perform { trial: Box<Trial>, index: usize },
    /// Tell what this worker can do and what it costs.
    Introduce { id: u64 },
}
