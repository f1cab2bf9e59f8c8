//! Sampling of senders and queues at fixed intervals. Read-only: the digest does not depend on it.

use lowtide_net::Network;
use lowtide_tcp::Connection;
use lowtide_units::Instant;

use super::alpha::alpha;
use super::outcome::{ProbeRow, QueueSample};
use crate::app::{ConnProgress, ConnSide};
use crate::setup::ProbePlan;

/// The sampled flows and ports, and the samples.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    /// The sending sides of the flows, ascending.
    pub(crate) senders: Vec<ConnSide>,
    /// Port numbers of switches, ascending; the index equals that in [`crate::Outcome::queues`].
    pub(crate) ports: Vec<u32>,
    pub(crate) rows: Vec<ProbeRow>,
    pub(crate) queues: Vec<QueueSample>,
}

impl Sampler {
    pub(crate) fn new(plan: &ProbePlan, flows: &[ConnProgress], net: &Network) -> Self {
        let mut senders = Vec::new();
        for group in &plan.groups {
            let of_group = flows.iter().zip(0..).filter(|(f, _)| f.group == *group);
            let sender = |(f, i): (&ConnProgress, u32)| f.sender(i).0;
            senders.extend(of_group.take(plan.flows_per_group as usize).map(sender));
        }
        senders.sort_unstable();
        let ports = net.ports().enumerate().filter(|(_, p)| plan.queues && p.at_switch);
        Self { senders, ports: ports.map(|(i, _)| i as u32).collect(), ..Self::default() }
    }

    pub(crate) fn sample_sender(&mut self, now: Instant, flow: u32, conn: &Connection) {
        let info = conn.info();
        self.rows.push(ProbeRow {
            at: now,
            flow,
            cwnd: info.snd_cwnd,
            ssthresh: info.snd_ssthresh,
            srtt: info.srtt,
            srtt_shown: info.srtt_quantised,
            rto: info.rto,
            in_flight: info.in_flight,
            alpha_q20: alpha(conn),
            queueing_delay: info.queueing_delay,
            acked: info.bytes_acked,
        });
    }

    pub(crate) fn sample_queues(&mut self, now: Instant, net: &mut Network) {
        for &queue in &self.ports {
            let (packets, bytes) = net.queue_now(now, queue);
            self.queues.push(QueueSample { at: now, queue, packets, bytes });
        }
    }

    /// Records a queue length of the port with that number.
    pub(crate) fn note_queue(&mut self, now: Instant, queue: u32, packets: u32, bytes: u64) {
        self.queues.push(QueueSample { at: now, queue, packets, bytes });
    }
}
