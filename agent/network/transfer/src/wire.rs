//! What is sent before a task begins: proofs, orders, answers.

use std::io;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Version of everything that both ends send each other. Raise it with each change, as frames with
/// unknown or missing fields are refused in the middle of a measurement, another version at its start.
pub const VERSION: u8 = 5;
pub const GREETING: &[u8; 8] = b"TAREPEER";
pub const NONCE: usize = 32;
pub const PROOF: usize = 32;
pub const HELLO: usize = GREETING.len() + 1 + NONCE;
const ORDER: usize = 1 + 4 + 8;
pub const SEALED: usize = ORDER + PROOF;
pub const TOKEN: usize = 16;
/// A key that can be tried out is none.
const KEY_LEAST: usize = 16;
const KEY_MOST: usize = 1024;

/// Largest message, and most bytes that one order may be about.
pub const MESSAGE_LIMIT: u32 = 1 << 20;
pub const ORDER_LIMIT: u64 = 64 << 30;
pub const CONNECT_LIMIT: u64 = 10_000;

/// A secret of both ends.
pub struct Key(Vec<u8>);

impl Key {
    pub fn from_hexadecimal(text: &str) -> Result<Self, String> {
        let text = text.trim().as_bytes();
        let digit = |byte: &u8| (*byte as char).to_digit(16);
        let digits: Option<Vec<u32>> = text.iter().map(digit).collect();
        let digits = digits.filter(|digits| digits.len() % 2 == 0);
        let digits = digits.ok_or("the key is not hexadecimal")?;
        let bytes: Vec<u8> = digits.chunks(2).map(|d| (d[0] * 16 + d[1]) as u8).collect();
        if !(KEY_LEAST..=KEY_MOST).contains(&bytes.len()) {
            let length = bytes.len();
            return Err(format!(
                "the key has {length} bytes, not {KEY_LEAST} to {KEY_MOST}"
            ));
        }
        Ok(Self(bytes))
    }
}

/// Who proves that it has the key.
#[derive(Clone, Copy)]
pub enum Side {
    Probe,
    End,
}

/// What both ends have said of one session, and the key.
pub struct Secrets {
    proofs: Hmac<Sha256>,
    session: Hmac<Sha256>,
    token: [u8; TOKEN],
    nonces: [[u8; NONCE]; 2],
}

impl Secrets {
    /// `nonces`: the end's, then the probe's.
    pub fn new(key: &Key, nonces: [[u8; NONCE]; 2]) -> Self {
        let proofs = keyed(&key.0);
        let session = Self::of(&proofs, b"session", &nonces).finalize();
        let session = keyed(&session.into_bytes());
        let mut token = [0; TOKEN];
        let whole = session.clone().chain_update(b"datagrams").finalize();
        token.copy_from_slice(&whole.into_bytes()[..TOKEN]);
        Self {
            proofs,
            session,
            token,
            nonces,
        }
    }

    fn of(mac: &Hmac<Sha256>, what: &[u8], nonces: &[[u8; NONCE]; 2]) -> Hmac<Sha256> {
        let mac = mac.clone().chain_update([what.len() as u8]);
        let mac = mac.chain_update(what).chain_update([VERSION]);
        mac.chain_update(nonces[0]).chain_update(nonces[1])
    }

    fn proving(&self, side: Side) -> Hmac<Sha256> {
        let who: &[u8] = match side {
            Side::Probe => b"probe",
            Side::End => b"end",
        };
        Self::of(&self.proofs, who, &self.nonces)
    }

    pub fn proof(&self, side: Side) -> [u8; PROOF] {
        self.proving(side).finalize().into_bytes().into()
    }

    /// Compares in a time that does not depend on where they differ.
    pub fn proves(&self, side: Side, proof: &[u8]) -> bool {
        self.proving(side).verify_slice(proof).is_ok()
    }

    pub fn seal(&self, number: u64, order: Order) -> [u8; SEALED] {
        let plain = order.encode();
        let mut sealed = [0; SEALED];
        sealed[..ORDER].copy_from_slice(&plain);
        sealed[ORDER..].copy_from_slice(&self.sealing(number, &plain).finalize().into_bytes());
        sealed
    }

    /// The order, if its seal is whole.
    pub fn open(&self, number: u64, sealed: &[u8; SEALED]) -> Option<Order> {
        let (plain, seal) = sealed.split_at(ORDER);
        self.sealing(number, plain).verify_slice(seal).ok()?;
        Order::decode(plain)
    }

    fn sealing(&self, number: u64, plain: &[u8]) -> Hmac<Sha256> {
        let mac = self.session.clone().chain_update(number.to_be_bytes());
        mac.chain_update(plain)
    }

    /// What seals the frames of a side.
    pub fn framing(&self, side: Side) -> Hmac<Sha256> {
        let whose: &[u8] = match side {
            Side::Probe => b"frames of probe",
            Side::End => b"frames of end",
        };
        let key = self.session.clone().chain_update(whose).finalize();
        keyed(&key.into_bytes())
    }

    pub fn token(&self) -> &[u8; TOKEN] {
        &self.token
    }
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Task {
    Echo = 1,
    Take = 2,
    Datagrams = 3,
    Connects = 4,
    Measure = 5,
    Join = 6,
}

const TASKS: [Task; 6] = [
    Task::Echo,
    Task::Take,
    Task::Datagrams,
    Task::Connects,
    Task::Measure,
    Task::Join,
];

/// What the end is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    pub task: Task,
    /// Of a message. To join: which stream.
    pub bytes: u32,
    /// Of messages, datagrams or connections. To join: which measurement.
    pub count: u64,
}

impl Order {
    fn encode(self) -> [u8; ORDER] {
        let mut plain = [0; ORDER];
        plain[0] = self.task as u8;
        plain[1..5].copy_from_slice(&self.bytes.to_be_bytes());
        plain[5..].copy_from_slice(&self.count.to_be_bytes());
        plain
    }

    fn decode(plain: &[u8]) -> Option<Self> {
        Some(Self {
            task: TASKS.into_iter().find(|task| *task as u8 == plain[0])?,
            bytes: u32::from_be_bytes(plain[1..5].try_into().ok()?),
            count: u64::from_be_bytes(plain[5..ORDER].try_into().ok()?),
        })
    }

    /// Whether it is within what an end lets itself be made to do.
    pub fn is_bounded(&self) -> bool {
        let total = self.count.saturating_mul(self.bytes.into());
        match self.task {
            Task::Connects => self.count <= CONNECT_LIMIT,
            // Bounded by what the end was told when it was started.
            Task::Measure | Task::Join => true,
            _ => (1..=MESSAGE_LIMIT).contains(&self.bytes) && total <= ORDER_LIMIT,
        }
    }
}

/// Why an order is not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Refusal {
    Bounds = 1,
    Busy = 2,
    Full = 3,
    Unknown = 4,
}

impl Refusal {
    pub fn told(code: u8) -> &'static str {
        match code {
            1 => "that is more than it lets itself be made to do",
            2 => "it is at work for another session",
            3 => "it is full: others are measured",
            4 => "it knows of no such measurement",
            _ => "it did not say why",
        }
    }
}

/// Sizes and numbers of the messages before a task begins, for the test of the version.
#[cfg(test)]
pub fn layout() -> Vec<usize> {
    let tasks = TASKS.into_iter().map(|task| task as usize);
    let refusals = [
        Refusal::Bounds,
        Refusal::Busy,
        Refusal::Full,
        Refusal::Unknown,
    ];
    let refusals = refusals.into_iter().map(|refusal| refusal as usize);
    [HELLO, PROOF, SEALED, TOKEN]
        .into_iter()
        .chain(tasks)
        .chain(refusals)
        .collect()
}

/// Random bytes that nobody can foretell.
pub fn nonce() -> io::Result<[u8; NONCE]> {
    let mut bytes = [0; NONCE];
    // SAFETY: writes at most as many bytes as there are; so few come at once or not at all.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), NONCE, 0) };
    match got {
        n if n == NONCE as isize => Ok(bytes),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(key: &str) -> Secrets {
        Secrets::new(&Key::from_hexadecimal(key).unwrap(), [[1; 32], [2; 32]])
    }

    const KEY: &str = "000102030405060708090a0b0c0d0e0f";

    #[test]
    fn only_the_same_key_side_and_nonces_prove() {
        let ours = secrets(KEY);
        let proof = ours.proof(Side::Probe);
        assert!(secrets(KEY).proves(Side::Probe, &proof));
        assert!(!ours.proves(Side::End, &proof));
        assert!(!secrets("ff0102030405060708090a0b0c0d0e0f").proves(Side::Probe, &proof));
        let key = Key::from_hexadecimal(KEY).unwrap();
        assert!(!Secrets::new(&key, [[1; 32], [3; 32]]).proves(Side::Probe, &proof));
        assert!(!ours.proves(Side::Probe, &proof[..31]));
    }

    #[test]
    fn an_order_is_good_once_and_as_it_was_given() {
        let ours = secrets(KEY);
        let order = Order {
            task: Task::Take,
            bytes: 77,
            count: 1 << 40,
        };
        let sealed = ours.seal(3, order);
        assert_eq!(ours.open(3, &sealed), Some(order));
        assert_eq!(ours.open(4, &sealed), None);
        for place in 0..SEALED {
            let mut changed = sealed;
            changed[place] ^= 1;
            assert_eq!(ours.open(3, &changed), None);
        }
    }

    #[test]
    fn keys_that_are_none_are_refused() {
        let long = "ab".repeat(KEY_MOST + 1);
        for bad in ["", "abc", "xy".repeat(32).as_str(), "00ff", &long] {
            assert!(Key::from_hexadecimal(bad).is_err(), "{bad}");
        }
        assert!(Key::from_hexadecimal(&format!("{KEY}\n")).is_ok());
    }

    #[test]
    fn bounds_hold_at_their_edges() {
        let order = |task, bytes, count| Order { task, bytes, count };
        assert!(order(Task::Take, MESSAGE_LIMIT, ORDER_LIMIT >> 20).is_bounded());
        assert!(!order(Task::Take, MESSAGE_LIMIT + 1, 1).is_bounded());
        assert!(!order(Task::Echo, 0, 1).is_bounded());
        assert!(!order(Task::Datagrams, 1 << 20, u64::MAX).is_bounded());
        assert!(!order(Task::Connects, 0, CONNECT_LIMIT + 1).is_bounded());
    }
}
