//! What crosses the connection between the front and `tare-agent supervise`, and what that is
//! started with.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `supervise` is started with, as JSON.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Supervision {
    /// ADDRESS:PORT of whoever is told of the services, and ends them.
    pub control: String,
    /// Commands that run in order before the services.
    pub reset: Vec<Vec<String>>,
    /// How long all of these may take.
    pub reset_ns: u64,
    /// In the order in which they start; they end in reverse.
    pub services: Vec<Service>,
    /// How much of the output of each service is copied to standard output.
    pub copy_bytes: u64,
}

/// A program that serves.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Service {
    pub name: String,
    pub command: Vec<String>,
    /// Beyond what `supervise` itself has.
    pub environment: BTreeMap<String, String>,
    pub ready: Ready,
    /// How long that may take.
    pub ready_ns: u64,
    /// Number of the signal that ends it.
    pub stop_signal: i32,
    /// How long it may take to end before it is killed.
    pub stop_ns: u64,
}

/// What shows that a service is ready.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Ready {
    /// A line of its output in which an expression is found.
    ReadyLog { pattern: String },
    /// A TCP connection is accepted.
    ReadyPort {
        /// ADDRESS:PORT
        address: String,
    },
    /// A page is answered with 200.
    ReadyHttp {
        /// ADDRESS:PORT
        address: String,
        path: String,
        /// An expression that is found in it.
        body: Option<String>,
    },
    /// A command that exits with 0.
    ReadyCommand { command: Vec<String> },
}

/// What `supervise` reports, one a line. It ends its services when a line comes back, or when the
/// connection ends.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "record", rename_all = "snake_case", deny_unknown_fields)]
pub enum ServicesReport {
    /// All commands of `reset` have run; services start.
    ServicesReset,
    /// All services are ready.
    ServicesReady {
        /// From the start of the first one, in order of the services.
        after_ns: Vec<u64>,
    },
    /// One of them is not, or has ended.
    ServicesFailed {
        /// Absent: a command of `reset`.
        service: Option<String>,
        what: String,
        /// The last lines of its output.
        log: String,
    },
    /// All have ended; nothing follows.
    ServicesEnded {
        /// Names of those that had to be killed, as they did not end within their time.
        killed: Vec<String>,
    },
}
