//! What both ends of a measurement tell each other while it lasts: sealed frames, one JSON object
//! each, over a connection that never holds either of them up.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};

use hmac::{Hmac, Mac};
use record::network::{Direction, EndFact, Ended, Sending};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use sys::clock;

use crate::traffic::half::Half;
use crate::wire::{Secrets, Side, PROOF};

/// Longest frame, before its seal.
const FRAME_MOST: usize = 1 << 18;
/// What may wait to be sent: of an end that does not listen, nothing more is kept.
const WAITING_MOST: usize = 1 << 22;
const LENGTH: usize = 4;
/// Whoever has nothing to say says so, so often.
pub const HEARTBEAT_NS: i64 = 2_000_000_000;
/// No interval of a measurement is shorter.
pub const INTERVAL_LEAST_NS: u64 = 1_000_000;
pub const SILENCE_NS: i64 = 20_000_000_000;

/// What the measuring end tells the other.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "tell", rename_all = "snake_case", deny_unknown_fields)]
pub enum Asked {
    /// First of all.
    Begin(Begin),
    /// A phase begins, or is under way for so long.
    Send {
        sending: Sending,
        since_ns: u64,
    },
    /// The phase under way is over.
    Stop,
    Alive,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Begin {
    pub direction: Direction,
    /// Of each direction.
    pub streams: u32,
    pub congestion: Option<String>,
    pub interval_ns: u64,
    pub sample_ns: u64,
    /// What it will come to, where that is known.
    pub lasts_ns: Option<u64>,
    pub most_bytes: Option<u64>,
}

/// Returns the numbers of streams on which the other end receives, and on which it sends.
pub fn stream_counts(direction: Direction, streams: u32) -> [u32; 2] {
    match direction {
        Direction::Out => [streams, 0],
        Direction::In => [0, streams],
        Direction::Both => [streams, streams],
    }
}

/// What the other end answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "tell", rename_all = "snake_case", deny_unknown_fields)]
pub enum Told {
    /// It can be joined, by this number.
    Ready {
        number: u64,
        facts: Vec<EndFact>,
    },
    /// It will not be done, or not any longer.
    Over {
        why: Ended,
    },
    Half(Box<Half>),
    Alive,
}

/// The connection that both speak over.
pub struct Frames {
    stream: TcpStream,
    ours: Seals,
    theirs: Seals,
    came: Vec<u8>,
    waiting: Vec<u8>,
    sent_ns: i64,
    heard_ns: i64,
}

/// What seals the frames of one direction, in the order in which they are sent.
struct Seals {
    mac: Hmac<Sha256>,
    number: u64,
}

impl Seals {
    fn next(&mut self, plain: &[u8]) -> Hmac<Sha256> {
        let number = self.number.to_be_bytes();
        self.number += 1;
        self.mac.clone().chain_update(number).chain_update(plain)
    }
}

impl Frames {
    /// `side`: ours.
    pub fn new(stream: TcpStream, secrets: &Secrets, side: Side) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let other = match side {
            Side::Probe => Side::End,
            Side::End => Side::Probe,
        };
        let seals = |side| Seals {
            mac: secrets.framing(side),
            number: 0,
        };
        let now = clock::monotonic();
        Ok(Self {
            stream,
            ours: seals(side),
            theirs: seals(other),
            came: Vec::new(),
            waiting: Vec::new(),
            sent_ns: now,
            heard_ns: now,
        })
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends, or keeps for later what the network does not take yet.
    pub fn tell<T: Serialize>(&mut self, message: &T) -> io::Result<()> {
        let plain = serde_json::to_vec(message).map_err(io::Error::other)?;
        if plain.len() > FRAME_MOST || self.waiting.len() > WAITING_MOST {
            return Err(lost("the other end does not listen"));
        }
        let seal = self.ours.next(&plain).finalize().into_bytes();
        self.waiting
            .extend_from_slice(&(plain.len() as u32).to_be_bytes());
        self.waiting.extend_from_slice(&plain);
        self.waiting.extend_from_slice(&seal);
        self.sent_ns = clock::monotonic();
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            match self.stream.write(&self.waiting) {
                Ok(written) => drop(self.waiting.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Keeps the connection alive, and finds out whether it is: call now and then.
    pub fn look_after<T: Serialize>(&mut self, alive: &T, now_ns: i64) -> io::Result<()> {
        if now_ns > self.heard_ns + SILENCE_NS {
            return Err(lost("the other end is silent"));
        }
        if now_ns >= self.sent_ns + HEARTBEAT_NS {
            self.tell(alive)?;
        }
        self.flush()
    }

    /// When to call `look_after` next.
    pub fn next_ns(&self) -> i64 {
        (self.sent_ns + HEARTBEAT_NS).min(self.heard_ns + SILENCE_NS + 1)
    }

    /// Takes what has come, and returns the next frame that is whole.
    pub fn hear<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        loop {
            if let Some(plain) = self.open()? {
                self.heard_ns = clock::monotonic();
                let message = serde_json::from_slice(&plain);
                return message
                    .map(Some)
                    .map_err(|why| lost(&format!("the other end says what no tare says: {why}")));
            }
            let mut chunk = [0; 16384];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(lost("the other end closed the connection")),
                Ok(got) => self.came.extend_from_slice(&chunk[..got]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn open(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some((length, rest)) = self.came.split_first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        if length > FRAME_MOST {
            return Err(lost("the other end sent what is no frame"));
        }
        if rest.len() < length + PROOF {
            return Ok(None);
        }
        let (plain, seal) = (&rest[..length], &rest[length..length + PROOF]);
        if self.theirs.next(plain).verify_slice(seal).is_err() {
            return Err(lost("the other end sent what is no frame"));
        }
        let plain = plain.to_vec();
        self.came.drain(..LENGTH + length + PROOF);
        Ok(Some(plain))
    }
}

impl AsRawFd for Frames {
    fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}

fn lost(why: &str) -> io::Error {
    io::Error::other(why.to_string())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use sha2::Digest;
    use sys::watch;

    use super::*;
    use crate::wire::{self, Key};

    fn pair(keys: [&str; 2]) -> [Frames; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let theirs = listener.accept().unwrap().0;
        let secrets = keys.map(|key| {
            let key = Key::from_hexadecimal(&key.repeat(16)).unwrap();
            Secrets::new(&key, [[1; 32], [2; 32]])
        });
        [
            Frames::new(ours, &secrets[0], Side::Probe).unwrap(),
            Frames::new(theirs, &secrets[1], Side::End).unwrap(),
        ]
    }

    fn heard(frames: &mut Frames) -> io::Result<Asked> {
        loop {
            if let Some(asked) = frames.hear()? {
                return Ok(asked);
            }
            watch::poll([frames.as_raw_fd()], None)?;
        }
    }

    /// Removes comments from a schema.
    fn without_descriptions(schema: &mut serde_json::Value) {
        match schema {
            serde_json::Value::Object(keys) => {
                keys.retain(|key, value| key != "description" || !value.is_string());
                keys.values_mut().for_each(without_descriptions);
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(without_descriptions),
            _ => {}
        }
    }

    #[test]
    fn a_changed_layout_raises_the_version() {
        let mut schemas = serde_json::json!([
            schemars::schema_for!(Asked),
            schemars::schema_for!(Told),
            wire::layout(),
        ]);
        without_descriptions(&mut schemas);
        let digest: String = Sha256::digest(schemas.to_string())[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        // Where the digest has changed, raise the version as well.
        assert_eq!((wire::VERSION, digest.as_str()), (5, "ce0dfb690907b390"));
    }

    #[test]
    fn frames_come_as_they_were_sent_and_in_order() {
        let [mut ours, mut theirs] = pair(["00", "00"]);
        ours.tell(&Asked::Alive).unwrap();
        ours.tell(&Asked::Stop).unwrap();
        assert!(matches!(heard(&mut theirs).unwrap(), Asked::Alive));
        assert!(matches!(heard(&mut theirs).unwrap(), Asked::Stop));
        theirs.tell(&Told::Alive).unwrap();
        // What is told is no question, and what comes back is not what was sent.
        assert!(heard(&mut ours).is_ok_and(|asked| matches!(asked, Asked::Alive)));
    }

    #[test]
    fn what_is_forged_cut_or_too_long_ends_it() {
        let [mut ours, mut theirs] = pair(["00", "11"]);
        ours.tell(&Asked::Alive).unwrap();
        assert!(heard(&mut theirs).is_err());

        let [ours, mut theirs] = pair(["00", "00"]);
        (&ours.stream).write_all(&u32::MAX.to_be_bytes()).unwrap();
        assert!(heard(&mut theirs).is_err());

        // Heard once, it is of no use again.
        let [mut ours, mut theirs] = pair(["00", "00"]);
        ours.tell(&Asked::Alive).unwrap();
        ours.ours.number = 0;
        ours.tell(&Asked::Alive).unwrap();
        assert!(heard(&mut theirs).is_ok());
        assert!(heard(&mut theirs).is_err());

        let [ours, mut theirs] = pair(["00", "00"]);
        drop(ours);
        assert!(heard(&mut theirs).is_err());
    }

    #[test]
    fn who_does_not_listen_is_let_go_and_who_is_silent_too() {
        let [mut ours, theirs] = pair(["00", "00"]);
        let told = Told::Over {
            why: "x".repeat(FRAME_MOST / 2).into(),
        };
        let sent = (0..1000).take_while(|_| ours.tell(&told).is_ok()).count();
        assert!(sent < 1000);
        assert!(ours.waiting.len() < WAITING_MOST + FRAME_MOST);
        let now = clock::monotonic();
        let [mut one, _other] = pair(["00", "00"]);
        assert!(one.look_after(&Asked::Alive, now).is_ok());
        assert!(one.look_after(&Asked::Alive, now + 2 * SILENCE_NS).is_err());
        drop(theirs);
    }
}
