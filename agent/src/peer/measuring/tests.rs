use super::*;
use std::io::Read;
use std::net::TcpListener;

fn begin(direction: Direction, streams: u32) -> Begin {
    Begin {
        direction,
        streams,
        congestion: None,
        interval_ns: 10_000_000,
        sample_ns: 10_000_000,
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
    assert!(matches!(join(0), Some(Part::Echo)));
    assert!(matches!(join(2), Some(Part::Receive(_))));
    assert!(matches!(join(3), Some(Part::Send)));
    assert!(join(3).is_none() && join(5).is_none() && join(u32::MAX).is_none());
    measurement.end();
    assert!(join(1).is_none());
    assert_eq!((&stream).read(&mut [0]).unwrap(), 0);
}

#[test]
fn what_is_beyond_bounds_is_told() {
    let limits = Limits::default();
    let [stream, _other] = connection();
    let why = |begin: &Begin| prepare(begin, limits, &stream).unwrap_err();
    assert!(why(&begin(Direction::In, limits.streams + 1)).contains("--streams 65"));
    assert!(why(&begin(Direction::In, 0)).contains("not 0"));
    let mut short = begin(Direction::Out, 1);
    short.sample_ns = 0;
    assert!(why(&short).contains("millisecond"));
    let mut strange = begin(Direction::Out, 1);
    strange.congestion = Some("nosuch".to_string());
    assert!(why(&strange).contains("nosuch"));
    assert!(prepare(&begin(Direction::Out, 1), limits, &stream).is_ok());
    assert!(beyond(limits, limits.bytes, false).is_none());
    assert!(beyond(limits, limits.bytes + 1, false).is_some());
    assert!(beyond(limits, 0, true).unwrap().contains("--longest"));
}
