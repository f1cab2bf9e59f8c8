//! Identical behaviour, identical digest.

use lowtide_net::{BufferSpec, MarkSpec, Network, Packet, PortSpec, QueueLength};
use lowtide_sim::{Entity, Scheduler, Seed};
use lowtide_units::{Duration, Instant};

use crate::rig::{Rig, build, funnel, packet, ps};

fn marking() -> PortSpec {
    PortSpec {
        buffer: BufferSpec::Static(QueueLength::Packets(10)),
        mark: MarkSpec::step(QueueLength::Packets(5)),
        count_in_service: false,
        classes: None,
    }
}

fn sends() -> Vec<(Instant, Packet)> {
    (0..50).map(|i| (ps(u64::from(i) * 7_001), packet(0, 1, 100, i))).collect()
}

fn digest(port: PortSpec, sends: &[(Instant, Packet)]) -> u64 {
    Rig::quiet(&funnel(port), sends).net.digest()
}

#[test]
fn the_same_run_twice() {
    assert_eq!(digest(marking(), &sends()), digest(marking(), &sends()));
}

#[test]
fn pinned() {
    // Changes only with the behaviour or the definition of the digest: state the reason in the
    // commit.
    assert_eq!(digest(marking(), &sends()), 0xbab3_9f38_6ffd_e725);
}

#[test]
fn any_difference_changes_the_digest() {
    let same = digest(marking(), &sends());
    let mut later = sends();
    later[49].0 += Duration::from_ps(1);
    assert_ne!(digest(marking(), &later), same, "one ps");
    let mut other = sends();
    other[20].1.segment.payload_len += 1;
    assert_ne!(digest(marking(), &other), same, "one byte of payload");
    let k = QueueLength::Packets(6);
    let mark = MarkSpec::step(k);
    assert_ne!(digest(PortSpec { mark, ..marking() }, &sends()), same, "marks");
    let buffer = BufferSpec::Static(QueueLength::Packets(11));
    assert_ne!(digest(PortSpec { buffer, ..marking() }, &sends()), same, "drops");
    assert_ne!(digest(marking(), &sends()[..49]), same, "one packet less");
}

#[test]
fn sampling_tie_order_and_warm_up_do_not_change_the_digest() {
    let want = digest(marking(), &sends());
    let plan = funnel(marking());
    for (seed, look, warmup) in [(7, false, 0), (1, true, 0), (1, false, 100)] {
        let warmup = Duration::from_ns(warmup);
        let mut net = Network::build(&plan, 0, Duration::ZERO, warmup).unwrap();
        let mut sched = Scheduler::new(Seed(seed));
        let sends = sends();
        for (&(at, _), i) in sends.iter().zip(0..) {
            sched.at(at, Entity::new(1, i));
        }
        while let Some((now, entity)) = sched.pop() {
            if entity.kind() == 1 {
                net.send(now, &sends[entity.index() as usize].1, &mut sched);
            } else {
                net.on_port_event(now, entity.index(), &mut sched);
            }
            if look {
                for port in 0..4 {
                    net.queue_now(now, port);
                }
                net.finish(now);
            }
        }
        assert_eq!(net.digest(), want, "seed {seed}, look {look}, warm-up {warmup}");
    }
}

#[test]
fn the_digest_without_packets_is_defined() {
    let plan = funnel(marking());
    assert_ne!(build(&plan).digest(), digest(marking(), &sends()));
}
