//! What a machine is called, and its way to itself: of a guest, or of what sees an image's files.

/// As `/etc/hosts` of every image has it.
const HOST_NAME: &str = "tare";

/// Gives the machine its name.
pub fn name_machine() {
    // SAFETY: as many bytes as said.
    unsafe { libc::sethostname(HOST_NAME.as_ptr().cast(), HOST_NAME.len()) };
}

/// Brings up the loopback, where the kernel has one.
pub fn raise_loopback() {
    // SAFETY: the request is whole; the descriptor is closed again.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[..2].copy_from_slice(&[b'l' as libc::c_char, b'o' as libc::c_char]);
        if libc::ioctl(socket, libc::SIOCGIFFLAGS, &mut request) == 0 {
            request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short;
            libc::ioctl(socket, libc::SIOCSIFFLAGS, &request);
        }
        libc::close(socket);
    }
}
