//! The remote end of network probes: `tare-agent peer` on another machine, and how a probe
//! speaks with it.
//!
//! # Wire format, version 1
//! One TCP connection is one session. Numbers are big-endian. Both ends know a key; nobody is
//! told it.
//!
//! | who | bytes | what |
//! | --- | --- | --- |
//! | end | 8 + 1 + 32 | `TAREPEER`, version, nonce |
//! | probe | 32 + 32 | nonce, proof "probe" |
//! | end | 32 | proof "end" |
//! | probe | 1 + 4 + 8 + 32 | an order: task, message size, count; seal |
//! | end | 1 + 2 | 0 or why it refuses; a port, where the task has one |
//! | both | | the task; then the next order |
//!
//! A proof is HMAC-SHA256 by the key of who proves it, the version and both nonces. A seal is
//! HMAC-SHA256 by the session's key (HMAC-SHA256 by the key of "session" and the nonces) of the
//! order's number in this session, from 0, and the order. So a key is never sent, what was heard
//! once is of no use again, and nobody in between can give orders. What the tasks send is plain:
//! it has no content.
//!
//! | task | what |
//! | --- | --- |
//! | 1 echo | every message comes back on this connection |
//! | 2 take | messages are read; one byte comes back after the last |
//! | 3 datagrams | UDP datagrams to the port of the answer come back to whoever sent the token first: 16 bytes, HMAC-SHA256 by the session's key of "datagrams" |
//! | 4 connects | the next connections from this address to the listening port are accepted and closed |
//!
//! # Bounds
//! The end listens on the one address that it was given, by TCP and, while a task needs it, by
//! UDP under the same port. It holds at most `CONNECTIONS` connections; a newer one that has not
//! proved the key yet takes the place of the oldest such. A connection has `HANDSHAKE_NS` to prove
//! it, `SESSION_NS` in all, and `IDLE` of silence; an order at most `MESSAGE_LIMIT` bytes a message
//! and `ORDER_LIMIT` bytes. It sends no more than it was sent.

pub mod door;
pub mod frames;
pub mod measuring;
pub mod serve;
pub mod session;
pub mod tasks;
pub mod wire;

pub use serve::run;
