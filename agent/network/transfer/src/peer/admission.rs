//! Who is in: bounds how many connections there are at once and for how long.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard};

use sys::clock;

/// Connections at once, and measurements beside.
pub const CONNECTIONS: usize = 16;
pub const MEASUREMENTS: usize = 16;
pub const HANDSHAKE_NS: i64 = 5_000_000_000;
pub const SESSION_NS: i64 = 300_000_000_000;
/// A task of connections is over after so long, whether all have come or not.
const EXPECTATION_NS: i64 = 10_000_000_000;

#[derive(Default)]
pub struct Admission(Mutex<State>);

#[derive(Default)]
struct State {
    number: u64,
    guests: Vec<Guest>,
    /// Connections that a session said would come: how many are left, and until when.
    expected: HashMap<IpAddr, (u64, i64)>,
}

struct Guest {
    number: u64,
    from: IpAddr,
    stream: TcpStream,
    deadline_ns: i64,
    seat: Seat,
}

/// What a connection is there for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Seat {
    /// It has not proved yet that it has the key.
    Arrival,
    Probe,
    /// Of a measurement: its first connection, its round trips, its data.
    Measurement,
    Echo,
    Stream,
}

impl Seat {
    fn is_passing(self) -> bool {
        matches!(self, Self::Arrival | Self::Probe)
    }
}

impl State {
    /// Who makes room: the oldest arrival of the address that most arrivals are from, so that a
    /// crowd shuts nobody out but itself.
    fn place_to_clear(&self) -> Option<usize> {
        let arrivals = || {
            let all = self.guests.iter().enumerate();
            all.filter(|(_, guest)| guest.seat == Seat::Arrival)
        };
        let from = |address| {
            arrivals()
                .filter(|(_, guest)| guest.from == address)
                .count()
        };
        arrivals()
            // Guests stand in the order in which they came.
            .max_by_key(|(place, guest)| (from(guest.from), Reverse(*place)))
            .map(|(place, _)| place)
    }
}

impl Admission {
    fn state(&self) -> MutexGuard<'_, State> {
        // What a session that panicked left is as good as before.
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Whether a connection was announced, and is to be closed.
    pub fn is_expected(&self, from: IpAddr) -> bool {
        let mut state = self.state();
        let Some((left, until_ns)) = state.expected.get_mut(&from) else {
            return false;
        };
        *left = left.saturating_sub(1);
        let in_time = clock::monotonic() < *until_ns;
        if *left == 0 || !in_time {
            state.expected.remove(&from);
        }
        in_time
    }

    pub fn expect(&self, from: IpAddr, count: u64) {
        let until_ns = clock::monotonic() + EXPECTATION_NS;
        let expected = &mut self.state().expected;
        if count == 0 {
            expected.remove(&from);
        } else {
            expected.insert(from, (count, until_ns));
        }
    }

    /// Lets one in and returns its number; None: all places are taken by those who have the key.
    pub fn enter(&self, stream: &TcpStream, from: IpAddr) -> io::Result<Option<u64>> {
        let stream = stream.try_clone()?;
        let mut state = self.state();
        let passing = state.guests.iter().filter(|guest| guest.seat.is_passing());
        if passing.count() >= CONNECTIONS {
            let Some(place) = state.place_to_clear() else {
                return Ok(None);
            };
            let _ = state.guests.remove(place).stream.shutdown(Shutdown::Both);
        }
        state.number += 1;
        let number = state.number;
        state.guests.push(Guest {
            number,
            from,
            stream,
            deadline_ns: clock::monotonic() + HANDSHAKE_NS,
            seat: Seat::Arrival,
        });
        Ok(Some(number))
    }

    pub fn has_proved(&self, number: u64) {
        self.seat(number, Seat::Probe, CONNECTIONS, SESSION_NS);
    }

    /// Gives a guest another seat for so long, if fewer than `most` have such a one.
    pub fn seat(&self, number: u64, seat: Seat, most: usize, longest_ns: i64) -> bool {
        let mut state = self.state();
        if state
            .guests
            .iter()
            .filter(|guest| guest.seat == seat)
            .count()
            >= most
        {
            return false;
        }
        let Some(guest) = state.guests.iter_mut().find(|g| g.number == number) else {
            return false;
        };
        guest.seat = seat;
        guest.deadline_ns = clock::monotonic().saturating_add(longest_ns);
        true
    }

    /// How many have such a seat.
    pub fn seated(&self, seat: Seat) -> usize {
        let state = self.state();
        state.guests.iter().filter(|g| g.seat == seat).count()
    }

    pub fn leave(&self, number: u64) {
        self.state().guests.retain(|guest| guest.number != number);
    }

    /// Shuts out who has stayed too long; when to look again.
    pub fn shut_out(&self) -> Option<i64> {
        let now = clock::monotonic();
        let mut state = self.state();
        state.guests.retain(|guest| {
            let stays = guest.deadline_ns > now;
            if !stays {
                // Its thread finds the connection ended.
                let _ = guest.stream.shutdown(Shutdown::Both);
            }
            stays
        });
        state.guests.iter().map(|guest| guest.deadline_ns).min()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (ours, listener.accept().unwrap().0)
    }

    #[test]
    fn who_has_not_proved_makes_room_and_who_has_does_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let admission = Admission::default();
        let mut all = Vec::new();
        for number in 1..=CONNECTIONS as u64 {
            all.push(pair(&listener));
            assert_eq!(
                admission.enter(&all.last().unwrap().1, HERE).unwrap(),
                Some(number)
            );
        }
        admission.has_proved(1);
        all.push(pair(&listener));
        assert!(admission
            .enter(&all.last().unwrap().1, HERE)
            .unwrap()
            .is_some());
        // The second was the oldest that had not.
        assert_eq!(all[1].0.read(&mut [0]).unwrap(), 0);
        for number in 2..=CONNECTIONS as u64 + 1 {
            admission.has_proved(number);
        }
        all.push(pair(&listener));
        assert_eq!(admission.enter(&all.last().unwrap().1, HERE).unwrap(), None);
        admission.leave(5);
        assert!(admission
            .enter(&all.last().unwrap().1, HERE)
            .unwrap()
            .is_some());
        assert!(admission.shut_out().is_some());
    }

    #[test]
    fn a_crowd_shuts_nobody_out_but_itself() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let admission = Admission::default();
        let (mut theirs, ours) = pair(&listener);
        let other = IpAddr::from([192, 0, 2, 1]);
        let number = admission.enter(&ours, other).unwrap().unwrap();
        let mut all = Vec::new();
        for _ in 0..25 * CONNECTIONS {
            all.push(pair(&listener));
            assert!(admission
                .enter(&all.last().unwrap().1, HERE)
                .unwrap()
                .is_some());
            assert!(admission.state().guests.len() <= CONNECTIONS);
        }
        theirs.set_nonblocking(true).unwrap();
        let open = theirs.read(&mut [0]).unwrap_err();
        assert_eq!(open.kind(), io::ErrorKind::WouldBlock);
        assert!(admission.seat(number, Seat::Probe, CONNECTIONS, SESSION_NS));
        assert_eq!(all[0].0.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn seats_of_measurements_are_beside_the_others_and_bounded() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let admission = Admission::default();
        let mut all = Vec::new();
        for _ in 0..CONNECTIONS + 2 {
            all.push(pair(&listener));
            let number = admission
                .enter(&all.last().unwrap().1, HERE)
                .unwrap()
                .unwrap();
            admission.has_proved(number);
            assert_eq!(
                admission.seat(number, Seat::Stream, 2, 1 << 40),
                number <= 2
            );
        }
        all.push(pair(&listener));
        assert_eq!(admission.enter(&all.last().unwrap().1, HERE).unwrap(), None);
        admission.leave(1);
        assert!(admission.seat(5, Seat::Stream, 2, 1 << 40));
        assert!(!admission.seat(1000, Seat::Echo, 1, 1 << 40));
        assert!(admission
            .enter(&all.last().unwrap().1, HERE)
            .unwrap()
            .is_some());
    }

    #[test]
    fn so_many_are_expected_as_were_announced() {
        let admission = Admission::default();
        let from = IpAddr::from([127, 0, 0, 1]);
        assert!(!admission.is_expected(from));
        admission.expect(from, 2);
        assert!(!admission.is_expected(IpAddr::from([127, 0, 0, 2])));
        assert!(admission.is_expected(from));
        assert!(admission.is_expected(from));
        assert!(!admission.is_expected(from));
        admission.expect(from, 2);
        admission.expect(from, 0);
        assert!(!admission.is_expected(from));
    }
}
