//! Messages of the routing socket: a header, then attributes, some of which hold attributes.

/// Of the header: length, kind, flags, sequence, port.
const HEADER: usize = 16;
/// The kernel marks some attributes that hold others, or numbers in another byte order.
const KIND: u16 = 0x3fff;

/// A message under way.
pub struct Message(Vec<u8>);

impl Message {
    /// Begins one: its kind, its flags beside the usual, and what stands before its attributes.
    pub fn new(kind: u16, flags: u16, fixed: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend(fixed);
        Self(bytes).aligned()
    }

    pub fn bytes(mut self, kind: u16, value: &[u8]) -> Self {
        let length = u16::try_from(4 + value.len()).expect("attributes are short");
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.aligned()
    }

    /// Text, which ends with a zero.
    pub fn text(self, kind: u16, value: &str) -> Self {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.bytes(kind, &bytes)
    }

    pub fn u32(self, kind: u16, value: u32) -> Self {
        self.bytes(kind, &value.to_ne_bytes())
    }

    pub fn u64(self, kind: u16, value: u64) -> Self {
        self.bytes(kind, &value.to_ne_bytes())
    }

    /// An attribute that holds what `fill` adds.
    pub fn nest(mut self, kind: u16, fill: impl FnOnce(Self) -> Self) -> Self {
        let start = self.0.len();
        self.0.extend([0; 2]);
        self.0.extend(kind.to_ne_bytes());
        let mut filled = fill(self);
        let length = u16::try_from(filled.0.len() - start).expect("attributes are short");
        filled.0[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        filled
    }

    /// Anything without a header of its own, such as the one that stands in a nest.
    pub fn raw(mut self, value: &[u8]) -> Self {
        self.0.extend(value);
        self.aligned()
    }

    /// The whole, with more flags and its number.
    pub fn finish(mut self, flags: u16, sequence: u32) -> Vec<u8> {
        let length = (self.0.len() as u32).to_ne_bytes();
        let flags = u16::from_ne_bytes([self.0[6], self.0[7]]) | flags;
        self.0[0..4].copy_from_slice(&length);
        self.0[6..8].copy_from_slice(&flags.to_ne_bytes());
        self.0[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.0
    }

    fn aligned(mut self) -> Self {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }
}

/// A message of the kernel's.
#[derive(Debug)]
pub struct Reply {
    pub kind: u16,
    pub sequence: u32,
    /// All but the header.
    pub body: Vec<u8>,
}

impl Reply {
    pub fn i32_at(&self, offset: usize) -> Option<i32> {
        Some(u32_at(&self.body, offset)? as i32)
    }

    /// Its attributes, which follow something of so many bytes.
    pub fn after(&self, fixed: usize) -> &[u8] {
        self.body.get(fixed..).unwrap_or_default()
    }
}

/// The messages of what was received; what is cut short is left out.
pub fn replies(mut bytes: &[u8]) -> Vec<Reply> {
    let mut found = Vec::new();
    while let Some(length) = u32_at(bytes, 0).map(|length| length as usize) {
        if length < HEADER || length > bytes.len() {
            break;
        }
        found.push(Reply {
            kind: u16::from_ne_bytes([bytes[4], bytes[5]]),
            sequence: u32_at(bytes, 8).unwrap_or_default(),
            body: bytes[HEADER..length].to_vec(),
        });
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

/// Attributes one after another, as far as they are whole.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = u16::from_ne_bytes(bytes.get(0..2)?.try_into().ok()?) as usize;
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?) & KIND;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The attribute of a kind among others.
pub fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes)
        .find(|(found, _)| *found == kind)
        .map(|(_, value)| value)
}

pub fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

pub fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let bytes = bytes.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

/// Text up to its zero.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
}

/// The bytes that `strace` has shown.
#[cfg(test)]
pub fn recorded(hexadecimal: &str) -> Vec<u8> {
    let bytes = hexadecimal.split_whitespace();
    bytes
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let message = Message::new(16, 0x400, &[7; 6])
            .text(3, "eth0")
            .nest(18, |info| info.text(1, "veth").u32(2, 9))
            .u64(5, u64::MAX);
        let bytes = message.finish(5, 42);
        assert_eq!(bytes.len() % 4, 0);
        let [reply] = &replies(&bytes)[..] else {
            panic!("not one")
        };
        assert_eq!((reply.kind, reply.sequence), (16, 42));
        // What stands before the attributes is filled up to the next four.
        let found: Vec<_> = attributes(reply.after(8)).collect();
        assert_eq!(found.len(), 3);
        assert_eq!((found[0].0, text(found[0].1)), (3, "eth0".to_string()));
        assert_eq!(found[1].0, 18);
        assert_eq!(u32_at(attribute(found[1].1, 2).unwrap(), 0), Some(9));
        assert_eq!(u64_at(found[2].1, 0), Some(u64::MAX));
    }

    #[test]
    fn garbage_of_any_length_is_read_without_harm() {
        let mut state = 1u64;
        for length in 0..400 {
            let noise: Vec<u8> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                    // Small numbers, so that many lengths are nearly right.
                    ((state >> 33) % 24) as u8
                })
                .collect();
            for reply in replies(&noise) {
                for (_, value) in attributes(reply.after(4)) {
                    assert!(text(value).len() <= 3 * value.len());
                }
            }
            let _ = attributes(&noise).count();
        }
        // An attribute that says that it has no length at all does not hold the reader.
        assert_eq!(attributes(&[0; 64]).count(), 0);
    }
}
