use super::*;

const END: u64 = 5000;

fn probing(is_retrans: bool) -> Tlp {
    let mut tlp = Tlp::default();
    assert!(tlp.may_probe());
    tlp.on_sent(END, is_retrans, 3000);
    tlp
}

fn ack(una: u64) -> ProbeAck {
    ProbeAck { una, dsack_end: None, plain_duplicate: false }
}

#[test]
fn one_probe_at_a_time_and_one_per_measured_round_trip() {
    let mut tlp = probing(false);
    assert!(!tlp.may_probe(), "one is in flight");
    assert_eq!(tlp.on_ack(&ack(END)), None);
    assert_eq!(tlp.end_seq(), None);
    assert!(!tlp.may_probe(), "the RTT was not measured since");
    tlp.on_rtt_sample();
    assert!(tlp.may_probe());
}

#[test]
fn rfc8985_7_4_2_the_ack_of_a_probe() {
    // RFC 8985 §7.4.2, in its order. Decided: the probe is no longer pending; lost: it repaired a
    // loss.
    let dsack = |una| ProbeAck { dsack_end: Some(END), ..ack(una) };
    let other = |una| ProbeAck { dsack_end: Some(END - 1), ..ack(una) };
    let duplicate = |una| ProbeAck { plain_duplicate: true, ..ack(una) };
    for (is_retrans, ack, decided, lost) in [
        (false, ack(END - 1), false, false),
        (false, ack(END), true, false),
        (false, ack(END + 1), true, false),
        (true, dsack(END - 1), false, false),
        (true, ack(END), false, false),
        (true, dsack(END), true, false),
        (true, dsack(END + 1), true, false),
        (true, duplicate(END), true, false),
        (true, other(END), false, false),
        (true, ack(END + 1), true, true),
        (true, other(END + 1), true, true),
    ] {
        let mut tlp = probing(is_retrans);
        let flight_size = tlp.on_ack(&ack);
        assert_eq!(flight_size, lost.then_some(3000), "{is_retrans} {ack:?}");
        assert_eq!(tlp.end_seq().is_none(), decided, "{is_retrans} {ack:?}");
    }
}

#[test]
fn recovery_makes_the_probe_irrelevant() {
    let mut tlp = probing(true);
    tlp.due = true;
    tlp.reset();
    assert_eq!((tlp.end_seq(), tlp.due), (None, false));
    assert_eq!(tlp.on_ack(&ack(END + 1)), None);
}
