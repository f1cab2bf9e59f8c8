//! Two connections over a link: whole transfers, seen from outside.

use lowtide_tcp::{Config, EcnNegotiation};
use lowtide_wire::Flags;

use crate::common::{LinkAction, Pair, SentSegment, Side, at_every_origin, ms, plain};

/// A sends `bytes` to B, which must receive all of them.
fn transfer(pair: &mut Pair, bytes: u64) {
    pair.a.send(bytes);
    pair.run_until(ms(60_000), |p| p.a.acked_upto() == bytes);
    let received = pair.conn(Side::B).info().bytes_received;
    assert_eq!(received, bytes, "{}", pair.tail());
}

#[test]
fn rfc3168_6_1_one_mark_one_cut_and_echoes_until_cwr() {
    at_every_origin(|o| {
        let config = Config { ecn: EcnNegotiation::Rfc3168, ..plain() };
        let mut pair = Pair::new(o, &config, &config, ms(10));
        let mut data = 0;
        pair.link(move |trip| {
            data += u32::from(trip.has_data());
            if trip.has_data() && data == 5 { LinkAction::Mark } else { LinkAction::Pass }
        });
        transfer(&mut pair, 60_000);
        assert_eq!(pair.a.info().counters.ecn_reductions, 1);
        let has = |t: &&SentSegment, flag| {
            t.seg.flags.contains(flag) && !t.seg.flags.contains(Flags::SYN)
        };
        let cwr: Vec<_> = pair.sent_by(Side::A).filter(|t| has(t, Flags::CWR)).collect();
        assert_eq!(cwr.len(), 1, "{}", pair.tail());
        let echoes: Vec<_> = pair.sent_by(Side::B).filter(|t| has(t, Flags::ECE)).collect();
        // From the mark until the segment with CWR arrived.
        assert_eq!(echoes.first().map(|t| t.packet.ack), Some(Some(5001)));
        let arrived = cwr[0].sent_at + ms(10);
        assert!(echoes.iter().all(|t| t.sent_at <= arrived), "{}", pair.tail());
        let quiet = |t: &&SentSegment| t.sent_at < arrived && t.packet.ack > Some(5001);
        assert!(pair.sent_by(Side::B).filter(quiet).all(|t| has(&t, Flags::ECE)));
    });
}

#[test]
fn rfc5681_3_2_a_segment_that_comes_late_is_sent_again_and_kept_once() {
    at_every_origin(|o| {
        for (late, retransmits) in [(ms(0), 0), (ms(30), 1)] {
            let mut pair = Pair::new(o, &plain(), &plain(), ms(10));
            pair.link(move |trip| {
                let first = trip.has_data() && trip.packet.seq == 2001;
                if first && trip.sent_at.since_start() < ms(100) {
                    LinkAction::Delay(late)
                } else {
                    LinkAction::Pass
                }
            });
            transfer(&mut pair, 30_000);
            assert_eq!(pair.a.info().counters.fast_retransmits, retransmits);
            assert_eq!(pair.a.info().counters.rto_count, 0);
        }
    });
}
