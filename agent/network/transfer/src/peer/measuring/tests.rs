use std::io::Read;
use std::net::TcpListener;

use super::*;

fn begin(direction: Direction, streams: u32) -> Begin {
    Begin {
        direction,
        streams,
        congestion: None,
        interval_ns: 10_000_000,
        sample_ns: 10_000_000,
        lasts_ns: None,
        most_bytes: None,
    }
}

fn connection() -> [TcpStream; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    [ours, listener.accept().unwrap().0]
}

#[test]
fn every_place_is_taken_once_and_none_when_it_is_over() {
    let measurement = Measurement::new(begin(Direction::Both, 2));
    let [stream, _other] = connection();
    let join = |place| measurement.join(place, &stream).unwrap();
    assert!(matches!(join(0), Some(Part::Echo(_))));
    assert!(matches!(join(2), Some(Part::Receive(_))));
    assert!(matches!(join(3), Some(Part::Send(_))));
    assert!(join(3).is_none() && join(5).is_none() && join(u32::MAX).is_none());
    measurement.end();
    assert!(join(1).is_none());
    assert_eq!((&stream).read(&mut [0]).unwrap(), 0);
}

fn limit(limit: Limit, allowed: u64, asked: Option<u64>) -> Ended {
    Ended::BeyondLimit {
        limit,
        allowed,
        asked,
    }
}

#[test]
fn what_is_known_to_be_beyond_is_refused_at_the_start() {
    let table = Table::default();
    let limits = Limits {
        longest_ns: 12_000_000_000,
        bytes: 1000,
        streams: 3,
        total_bytes: 5000,
    };
    let why = |begin: &Begin, seats| table.allow(begin, limits, seats).unwrap_err();
    let both = |streams| begin(Direction::Both, streams);
    assert!(table.allow(&both(1), limits, 1).is_ok());
    assert_eq!(why(&both(2), 0), limit(Limit::Streams, 3, Some(4)));
    let all = 2 * u64::from(u32::MAX);
    assert_eq!(why(&both(u32::MAX), 0), limit(Limit::Streams, 3, Some(all)));
    assert_eq!(why(&both(1), 2), Ended::EndFull);
    assert!(matches!(why(&both(0), 0), Ended::MeasureFailed { .. }));
    let mut long = both(1);
    long.lasts_ns = Some(12_000_000_000);
    long.most_bytes = Some(1000);
    assert!(table.allow(&long, limits, 0).is_ok());
    long.most_bytes = Some(1001);
    assert_eq!(why(&long, 0), limit(Limit::Bytes, 1000, Some(1001)));
    long.lasts_ns = Some(30_000_000_000);
    let beyond = limit(Limit::Time, 12_000_000_000, Some(30_000_000_000));
    assert_eq!(why(&long, 0), beyond);
    // Probes and measurements have one account.
    assert!(table.takes(4999, limits) && !table.takes(2, limits) && !table.takes(u64::MAX, limits));
    assert!(table.allow(&both(1), limits, 0).is_ok());
    assert!(table.takes(1, limits));
    assert_eq!(why(&both(1), 0), limit(Limit::TotalBytes, 5000, None));
}

#[test]
fn what_becomes_too_much_is_cut() {
    let limits = Limits {
        total_bytes: 1 << 60,
        ..Limits::default()
    };
    let bytes = limits.bytes;
    assert_eq!(beyond(limits, bytes, bytes, false), None);
    let cut = |bytes, all, late| beyond(limits, bytes, all, late).unwrap();
    let longest_ns = limits.longest_ns as u64;
    assert_eq!(
        cut(bytes + 1, bytes + 1, false),
        limit(Limit::Bytes, bytes, None)
    );
    assert_eq!(
        cut(1, 1 << 61, false),
        limit(Limit::TotalBytes, 1 << 60, None)
    );
    assert_eq!(cut(0, 0, true), limit(Limit::Time, longest_ns, None));
    // What is allowed to last so long is not cut by what lies between its phases.
    assert!(limits.cut_ns() > limits.longest_ns + 1_000_000_000);
}

#[test]
fn what_cannot_be_measured_is_told() {
    let [stream, _other] = connection();
    let mut short = begin(Direction::Out, 1);
    short.sample_ns = 0;
    assert!(matches!(
        prepare(&short, &stream),
        Err(Ended::MeasureFailed { .. })
    ));
    let mut strange = begin(Direction::Out, 1);
    strange.congestion = Some("nosuch".to_string());
    let why = prepare(&strange, &stream).unwrap_err();
    assert!(matches!(why, Ended::CongestionRefused { here: false, .. }));
    assert!(prepare(&begin(Direction::Out, 1), &stream).is_ok());
}
