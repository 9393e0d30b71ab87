//! Messages beside those that iproute2 6.1 sent and Linux 6.18 answered.

use super::super::message::{recorded, replies};
use super::*;

const REQUEST: u16 = (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
const INTERFACE: u32 = 4;

#[test]
fn disciplines_are_made_as_tc_makes_them() {
    // tc qdisc replace dev v0 root handle 7a7e: htb default 1
    let sent = recorded(
        "48 00 00 00 24 00 05 05  00 00 00 00 00 00 00 00
         00 00 00 00 04 00 00 00  00 00 7e 7a ff ff ff ff
         00 00 00 00 08 00 01 00  68 74 62 00 1c 00 02 00
         18 00 02 00 03 00 00 00  0a 00 00 00 01 00 00 00
         00 00 00 00 00 00 00 00",
    );
    assert_eq!(root(INTERFACE).finish(REQUEST, 0), sent);
    // tc qdisc replace dev v0 parent 7a7e:1 handle 7a7f: bfifo limit 1250000
    let sent = recorded(
        "38 00 00 00 24 00 05 05  00 00 00 00 00 00 00 00
         00 00 00 00 04 00 00 00  00 00 7f 7a 01 00 7e 7a
         00 00 00 00 0a 00 01 00  62 66 69 66 6f 00 00 00
         08 00 02 00 d0 12 13 00",
    );
    let made = queue(INTERFACE, CLASS, QUEUE, 1_250_000);
    assert_eq!(made.finish(REQUEST, 0), sent);
}

#[test]
fn a_class_is_changed_as_tc_changes_it() {
    // tc class change dev v0 parent 7a7e: classid 7a7e:1 htb rate 40gbit ceil 40gbit
    // quantum 60000: without its tables, and what it says of them.
    let sent = recorded(
        "78 00 00 00 28 00 05 00  00 00 00 00 00 00 00 00
         00 00 00 00 04 00 00 00  01 00 7e 7a 00 00 7e 7a
         00 00 00 00 08 00 01 00  68 74 62 00 4c 00 02 00
         0c 00 06 00 00 f2 05 2a  01 00 00 00 0c 00 07 00
         00 f2 05 2a 01 00 00 00  30 00 01 00 00 01 00 00
         00 00 00 00 ff ff ff ff  00 01 00 00 00 00 00 00
         ff ff ff ff 5a 62 02 00  5a 62 02 00 60 ea 00 00
         00 00 00 00 00 00 00 00",
    );
    assert_eq!(class(INTERFACE, 0, 40_000_000_000).finish(REQUEST, 0), sent);
}

/// What `tc class show dev v0` was answered; counters that are not zero were put in.
fn answer() -> Vec<u8> {
    recorded(
        "04 01 00 00 28 00 02 00  dd 62 02 6b 83 1b 00 00
         00 00 00 00 03 00 00 00  01 00 7e 7a ff ff ff ff
         00 00 7f 7a 08 00 01 00  68 74 62 00 4c 00 02 00
         30 00 01 00 00 01 00 00  00 00 00 00 ff ff ff ff
         00 01 00 00 00 00 00 00  ff ff ff ff 24 f4 00 00
         24 f4 00 00 60 ea 00 00  00 00 00 00 00 00 00 00
         0c 00 06 00 00 f2 05 2a  01 00 00 00 0c 00 07 00
         00 f2 05 2a 01 00 00 00  48 00 07 00 14 00 01 00
         01 00 00 00 00 02 00 00  09 00 00 00 00 00 00 00
         18 00 03 00 07 00 00 00  f6 11 00 00 05 00 00 00
         00 00 00 00 00 00 00 00  18 00 04 00 00 00 00 00
         00 00 00 00 00 00 00 00  24 f4 00 00 24 f4 00 00
         2c 00 03 00 00 00 00 00  00 00 00 00 00 00 00 00
         00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00
         00 00 00 00 00 00 00 00  00 00 00 00 18 00 04 00
         00 00 00 00 00 00 00 00  00 00 00 00 24 f4 00 00
         24 f4 00 00",
    )
}

#[test]
fn rates_and_counters_are_read_with_64_bits() {
    let [reply] = &replies(&answer())[..] else {
        panic!("not one")
    };
    let body = reply.after(FIXED);
    assert_eq!(class_rates(body), Some((5_000_000_000, 5_000_000_000)));
    let counted = Counted {
        sent_bytes: 0x0200_0000_0001,
        dropped: 5,
        waiting_bytes: 0x11f6,
    };
    assert_eq!(counts(body), Some(counted));
}

#[test]
fn what_is_cut_short_is_no_answer() {
    let whole = answer();
    for length in 16..whole.len() {
        let mut cut = whole[..length].to_vec();
        cut[0..4].copy_from_slice(&(length as u32).to_ne_bytes());
        for reply in replies(&cut) {
            let body = reply.after(FIXED);
            let counted = counts(body).map(|counted| counted.sent_bytes);
            assert!(matches!(counted, None | Some(0x0200_0000_0001)));
            let narrow = u64::from(u32::MAX);
            for rate in class_rates(body)
                .into_iter()
                .flat_map(|(rate, ceil)| [rate, ceil])
            {
                assert!(rate == 5_000_000_000 || rate == narrow);
            }
        }
    }
}

#[test]
fn rates_are_rounded_to_bytes_and_bursts_bounded() {
    for (bits, bytes) in [(8, 1), (0, 1), (11, 1), (12, 2), (200_000_000, 25_000_000)] {
        assert_eq!(bytes_ps(bits), bytes, "{bits} bit/s");
    }
    assert_eq!(burst_bytes(2_000_000_000), 2_500_000);
    assert_eq!(burst_bytes(1_000_000), LARGEST_BYTES);
    for rate in [8, 1_000, 1_000_000_000_000, FASTEST_BPS, u64::MAX] {
        let parms = parms(rate);
        let ticks = u64::from(u32_at(&parms, 24).unwrap());
        assert!(
            ticks > 0 && ticks * TICK_NS <= LONGEST_BURST_NS,
            "{rate} bit/s"
        );
    }
}
