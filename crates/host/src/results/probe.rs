//! Sampling of senders and queues at fixed intervals. Read-only: the digest does not depend on it.

use std::sync::Arc;

use lowtide_net::Network;
use lowtide_rows::{ProbeRow, QueueSampleRow, VariableRow};
use lowtide_tcp::Connection;
use lowtide_units::{Duration, Instant, Probe, Rate, Unit};

use crate::app::{ConnProgress, ConnSide};
use crate::setup::ProbePlan;

/// The sampled flows and ports, and the samples.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    /// The sending sides of the flows, ascending.
    pub(crate) senders: Vec<ConnSide>,
    /// Port numbers of switches, ascending; the index equals that in [`crate::Outcome::queues`].
    pub(crate) ports: Vec<u32>,
    /// Without the names of the groups until [`super::collect`] adds them.
    pub(crate) rows: Vec<ProbeRow>,
    /// Likewise.
    pub(crate) variables: Vec<VariableRow>,
    /// Without the names of the queues until [`super::collect`] adds them.
    pub(crate) queues: Vec<QueueSampleRow>,
}

/// Adds the variables of one sender.
struct Variables<'a> {
    time_ps: u64,
    flow: u32,
    rows: &'a mut Vec<VariableRow>,
}

impl Probe for Variables<'_> {
    fn value(&mut self, name: &str, unit: Unit, value: u64) {
        let (time_ps, flow, (unit, value)) = (self.time_ps, self.flow, unit.shown(value));
        let (group, variable, unit) = (Arc::default(), name.into(), unit.into());
        self.rows.push(VariableRow { time_ps, flow, group, variable, unit, value });
    }
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
            time_ps: now.as_ps(),
            flow,
            group: Arc::default(),
            cwnd_bytes: info.snd_cwnd,
            ssthresh_bytes: info.snd_ssthresh,
            srtt_ns: info.srtt.map(Duration::as_ns),
            srtt_quantised_ns: info.srtt_quantised.map(Duration::as_ns),
            rto_ns: info.rto.as_ns(),
            in_flight_bytes: info.in_flight,
            pacing_rate_bps: info.pacing_rate.map(Rate::as_bps),
            dctcp_alpha_q20: conn.alpha_q20(),
            queueing_delay_ns: info.queueing_delay.map(Duration::as_ns),
            bytes_acked: info.bytes_acked,
        });
        conn.probe(&mut Variables { time_ps: now.as_ps(), flow, rows: &mut self.variables });
    }

    pub(crate) fn sample_queues(&mut self, now: Instant, net: &mut Network) {
        for i in 0..self.ports.len() {
            let queue = self.ports[i];
            let (packets, bytes) = net.queue_now(now, queue);
            self.note_queue(now, queue, packets, bytes);
        }
    }

    /// Records a queue length of the port with that number.
    pub(crate) fn note_queue(&mut self, now: Instant, queue: u32, packets: u32, bytes: u64) {
        let (time_ps, name) = (now.as_ps(), Arc::default());
        self.queues.push(QueueSampleRow { time_ps, queue, name, packets, bytes });
    }
}
