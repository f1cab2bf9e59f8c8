//! ACK storms: two forged segments desynchronise both ends, so each ACK is answered by an ACK.

use std::cell::RefCell;
use std::rc::Rc;

use lowtide_tcp::AckThrottle;
use lowtide_tcp::profile;

use super::*;

/// Forges data from each end to the other. Returns the packets that both send in the next two
/// seconds.
fn storm(config: &Config) -> u64 {
    let seen: Rc<RefCell<Vec<Segment>>> = Rc::default();
    let tap = Rc::clone(&seen);
    let mut pair = StackPair::new(Box::new(move |bytes: &[u8]| {
        let (_, segment, _) = packet::parse(bytes).unwrap();
        tap.borrow_mut().push(segment);
        vec![(Duration::ZERO, bytes.to_vec())]
    }));
    let (client, server) = pair.connect(config);
    let mut byte = [0];
    for (stack, key, other) in [(0, client, server), (1, server, client)] {
        assert_eq!(pair.stacks[stack].write(key, b"x").unwrap(), 1);
        while pair.stacks[1 - stack].read(other, &mut byte).is_err() {
            assert!(pair.step());
        }
    }
    let quiet = pair.now + Duration::from_ms(900);
    while pair.stacks.iter().filter_map(Stack::next_timer).any(|t| t < quiet)
        || !pair.in_flight.is_empty()
    {
        pair.step();
    }
    let stamp = HostStamp(pair.now.since_start().as_ns());
    let seen = seen.take();
    for to in 0..2 {
        let from_client = |s: &&Segment| (s.dst_port == 80) == (to == 1);
        let last = seen.iter().rfind(from_client).unwrap();
        let forged = Segment { seq: last.seq_end(), flags: Flags::ACK, payload_len: 50, ..*last };
        let addresses = Addresses::between(ADDRESSES[1 - to], ADDRESSES[to]).unwrap();
        let mut bytes = vec![0; 200];
        let len = packet::emit(&addresses, &forged, &[7; 50], &mut bytes).unwrap();
        pair.stacks[to].inject(pair.now, stamp, &bytes[..len], &mut pair.batch);
        pair.send_batch(to);
    }
    let (end, before) = (pair.now + Duration::from_secs(2), pair.sent);
    while pair.now < end && pair.step() {}
    pair.sent - before
}

#[test]
fn an_ack_storm_is_throttled_in_every_profile() {
    for profile in profile::REGISTRY.all() {
        let config = crate::socket::config(profile.name, None, &[]).unwrap();
        let intervals = 2 + Duration::from_secs(2).as_ps() / config.challenge_ack_interval.as_ps();
        let most = 2 * intervals * u64::from(config.challenge_ack_limit) + 20;
        let sent = storm(&config);
        // Each end acknowledges the forged data at least.
        assert!(sent >= 2, "{}: nothing was forged", profile.name);
        assert!(sent <= most, "{}: {sent} packets in 2 s, at most {most}", profile.name);
    }
}

#[test]
fn ack_throttle_cannot_be_weakened_on_real_packets() {
    let refused = crate::socket::config("rfc", None, &[("ack-throttle", "challenges")]);
    let message = refused.unwrap_err();
    assert!(message.contains("`ack-throttle`") && message.contains("empty"), "{message}");
    // Nor by a configuration made in code.
    let made = Config { ack_throttle: AckThrottle::Challenges, ..Config::default() };
    assert!(storm(&made) < 100);
}
