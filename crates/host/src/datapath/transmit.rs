//! A packet leaves TCP: queued in the stack or in burst control, or passed to the NIC with its
//! stamp.

use lowtide_net::{Envelope, HostId, Network, Packet};
use lowtide_sim::{Entity, Scheduler};
use lowtide_units::{Duration, HostStamp, Instant};
use lowtide_wire::Segment;

use super::bucket::{DelayedPacket, Pacer};
use super::stack::DelayLine;
use crate::clocks::calibration::Calibration;
use crate::clocks::clock::{Clock, TxTimes};
use crate::tables::missing;
use crate::world::{SEND, STACK_OUT};

/// Queues an outgoing packet of that host in the stack, or else in burst control; it must have one
/// of them. `fresh` for the first packet of a burst.
#[cold]
pub(crate) fn enqueue_delayed(
    now: Instant,
    host: u32,
    stack: &mut Option<Box<DelayLine<DelayedPacket>>>,
    pacer: &mut Option<Box<Pacer>>,
    waiting: DelayedPacket,
    fresh: bool,
    sched: &mut Scheduler,
) {
    let (at, kind) = if let Some(delay_line) = stack {
        if fresh {
            delay_line.exit_time(now);
        }
        (delay_line.push(waiting), STACK_OUT)
    } else {
        let pacer = pacer.as_mut().expect("the host delays its output");
        (pacer.push(now, waiting), SEND)
    };
    if let Some(at) = at {
        sched.at(at, Entity::new(kind, host));
    }
}

/// Returns the serialisation time of `size` IP bytes on the line of `host`.
#[track_caller]
pub(super) fn line_time(net: &Network, host: HostId, size: u32) -> Duration {
    net.serialization(host, size).unwrap_or_else(|| missing("lines of hosts", host.0))
}

/// Clock and calibration by which a host stamps departing packets.
pub(crate) struct Stamper<'a> {
    pub(crate) clock: &'a mut Clock,
    pub(crate) calibration: &'a mut Calibration,
}

impl Stamper<'_> {
    #[inline]
    fn stamp(self, net: &Network, sent: TxTimes, envelope: Envelope) -> HostStamp {
        let stamp = self.clock.on_send(sent);
        let Envelope { src, size, .. } = envelope;
        self.calibration.sent(stamp, || line_time(net, src, size))
    }
}

/// Passes a packet that TCP created at `made` to the NIC at `now`. Returns its stamp, which the
/// packet also carries if it has a field for it (DX). `None` if the NIC had no room, or if no one
/// reads it.
#[expect(clippy::inline_always, reason = "fast path of every packet")]
#[inline(always)]
pub(crate) fn send(
    net: &mut Network,
    stamper: Stamper<'_>,
    made: Instant,
    now: Instant,
    segment: &Segment,
    envelope: Envelope,
    sched: &mut Scheduler,
) -> Option<HostStamp> {
    if segment.options.delay().is_some() {
        return send_stamped(net, stamper, made, now, envelope.around(*segment), sched);
    }
    let left = net.send_segment(now, segment, envelope, sched)?;
    // An unused stamp without random draws is skipped.
    if stamper.clock.is_exact() && stamper.calibration.is_off() {
        return None;
    }
    Some(stamper.stamp(net, TxTimes { kernel: made, driver: now, hardware: left }, envelope))
}

/// Sends a packet that carries its stamp: the stamp is taken first.
#[inline(never)]
fn send_stamped(
    net: &mut Network,
    stamper: Stamper<'_>,
    made: Instant,
    now: Instant,
    mut packet: Packet,
    sched: &mut Scheduler,
) -> Option<HostStamp> {
    let left = net.departure_time(now, packet.src, packet.size)?;
    let times = TxTimes { kernel: made, driver: now, hardware: left };
    let stamp = stamper.stamp(net, times, packet.envelope());
    packet.segment.stamp_departure(stamp);
    net.send(now, &packet, sched).map(|_| stamp)
}
