//! Descriptors that go from process to process with the bytes of a socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    recvmsg, sendmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

/// Sends bytes with a descriptor, which arrives with the first of them; returns how many were
/// taken.
pub fn send(socket: &UnixStream, bytes: &[u8], file: BorrowedFd) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files = [file];
    ancillary.push(SendAncillaryMessage::ScmRights(&files));
    let bytes = [IoSlice::new(bytes)];
    // Whoever has gone is told by an error, not by a signal.
    Ok(sendmsg(
        socket,
        &bytes,
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?)
}

/// Receives bytes, and the descriptor that came with them, if one did; no bytes are the end.
pub fn receive(socket: &UnixStream, bytes: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [IoSliceMut::new(bytes)];
    let received = loop {
        match recvmsg(socket, &mut bytes, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    let mut file = None;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(files) = message {
            file = files.last();
        }
    }
    Ok((received.bytes, file))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    use super::*;
    use crate::mapping;

    #[test]
    fn a_descriptor_arrives_with_its_bytes_and_none_without() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let memory = mapping::memory_file(4).unwrap();
        assert_eq!(send(&ours, b"with", memory.as_fd()).unwrap(), 4);
        let mut bytes = [0; 4];
        let (length, file) = receive(&theirs, &mut bytes).unwrap();
        assert_eq!((length, &bytes), (4, b"with"));
        let mut read = Vec::new();
        File::from(file.unwrap()).read_to_end(&mut read).unwrap();
        assert_eq!(read, [0; 4]);
        ours.write_all(b"none").unwrap();
        assert!(receive(&theirs, &mut bytes).unwrap().1.is_none());
        drop(ours);
        assert_eq!(receive(&theirs, &mut bytes).unwrap().0, 0);
    }
}
