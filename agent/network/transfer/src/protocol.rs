//! How both ends speak with each other.
//!
//! # Wire format
//! `wire::VERSION` is its version.
//!
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
//! | 5 measure | this connection controls a measurement: frames both ways until it is over |
//! | 6 join | this connection is part of one: in place of a size and a count stand its place and the measurement's number. Place 0 returns 64 bytes at a time, the next ones are read, the last ones written to |
//!
//! A frame is a length (4), so many bytes of JSON (`frames.rs`), and their seal: HMAC-SHA256, by a
//! key that is the session's HMAC-SHA256 of "frames of probe" or "frames of end", of the frame's
//! number in its direction, from 0, and the bytes.
//!
//! # Bounds
//! The end listens on the one address that it was given, by TCP and, while a task needs it, by
//! UDP under the same port. It holds at most `CONNECTIONS` connections beside measurements; a newer
//! one that has not proved the key yet takes the place of the oldest such. A connection has
//! `HANDSHAKE_NS` to prove it, `SESSION_NS` in all, and `IDLE` of silence; an order at most
//! `MESSAGE_LIMIT` bytes a message and `ORDER_LIMIT` bytes. For these it sends no more than it was
//! sent.
//!
//! Of measurements there are `MEASUREMENTS` at once, with so many data streams in all, so many bytes
//! and so much time each as the end was told when it was started (`measuring::Limits`). A frame has
//! at most `FRAME_MOST` bytes; who does not read its own is let go, and so is who says nothing for
//! `SILENCE_NS`.

pub(crate) mod dial;
pub(crate) mod frames;
pub mod session;
pub mod tasks;
