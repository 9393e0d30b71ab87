//! Descriptors at which the agent's own processes find what they were given.

use std::os::fd::RawFd;

/// A kernel's process: the memory that it shares with its worker, and its rendezvous.
pub const BLOCK_FD: RawFd = 3;
pub const MEETING_FD: RawFd = 4;

/// A worker, or the process of a probe's round: its main process, and the agent's binary.
pub const CONTROL_FD: RawFd = 3;
pub const BINARY_FD: RawFd = 4;
