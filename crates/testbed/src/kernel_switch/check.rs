//! Scenarios that the kernel's bottleneck can run, and the settings of its ports.

use std::fmt::Display;

use lowtide_host::Setup;
use lowtide_kernel::{KernelBottleneck, KernelError, MAX_PACKETS, PortSettings, Shaper};
use lowtide_lab::UnsupportedSetup;
use lowtide_live::netns::Namespace;
use lowtide_net::aqm::MarkSpec;
use lowtide_net::{BufferSpec, Framing, LineSpec, LinkSpec, NodeId, PortSpec};
use lowtide_units::{Bytes, Duration, Fraction, QueueLength};

use super::kind::BottleneckKind;
use super::{aqm, shaper};
use crate::plan::{HostPlan, HostStack, refusal};

/// The marker of the BPF program.
const STEP: &str = "step";
/// The marker of which the kernel has a form with a queue for each flow.
const CODEL: &str = "codel";

/// Returns the line of a link from the switch.
pub(super) fn from_switch(link: &LinkSpec) -> &LineSpec {
    link.line(matches!(link.b, NodeId::Switch(_)))
}

/// Returns the line of a link from the host.
pub(super) fn from_host(link: &LinkSpec) -> &LineSpec {
    link.line(!matches!(link.b, NodeId::Switch(_)))
}

/// Checks that the kernel's bottleneck has what `setup` needs, and that this binary and this kernel
/// have its programs.
pub(crate) fn check(
    setup: &Setup,
    plans: &[HostPlan],
    kind: BottleneckKind,
) -> Result<(), UnsupportedSetup> {
    let user = "`--bottleneck user` has it";
    let network = &setup.network;
    if let Some(plan) = plans.iter().find(|p| matches!(p.stack, HostStack::Lowtide(_))) {
        let message = format!("host `{}` has lowtide's TCP, which has no device", plan.name);
        return Err(refusal(message, "with `--bottleneck kernel` all hosts need the kernel's TCP"));
    }
    if network.switches.len() != 1 {
        let message = "the kernel's bottleneck is one switch, not several".to_owned();
        return Err(refusal(
            message,
            "`topology.kind = \"star\"`; `--bottleneck user` has all of them",
        ));
    }
    if network.switches.iter().any(|switch| switch.memory.is_some()) {
        return Err(refusal(
            "the kernel's bottleneck has no shared buffer memory".to_owned(),
            user,
        ));
    }
    if !network.failures.is_empty() {
        return Err(refusal("the kernel's bottleneck has no link failures".to_owned(), user));
    }
    for link in &network.links {
        if link.framing != Framing::Ethernet {
            let message = "the kernel's bottleneck counts Ethernet framing".to_owned();
            return Err(refusal(
                message,
                "`topology.framing = \"ethernet\"`, or `--bottleneck user`",
            ));
        }
        if [&link.from_a, &link.from_b].iter().any(|line| line.loss != Fraction::ZERO) {
            return Err(refusal("the kernel's bottleneck has no random loss".to_owned(), user));
        }
    }
    let delays = || network.links.iter().flat_map(|l| [l.from_a.delay, l.from_b.delay]);
    let first = delays().next().unwrap_or_default();
    if delays().any(|delay| delay != first) {
        return Err(refusal("the kernel's bottleneck needs links of one delay".to_owned(), user));
    }
    if let Some(qdiscs) = qdiscs(setup, plans, kind)? {
        return try_qdiscs(&qdiscs, first);
    }
    network.links.iter().try_for_each(|link| check_port(&from_switch(link).port))?;
    if first > Duration::ZERO && !Namespace::new().is_ok_and(|new| shaper::has_fq(&new)) {
        let message = "this kernel has no `fq`, which holds packets for the delay of a link";
        let help = "`-s topology.link-delay='0 s'`: the round trip is then that of the kernel";
        return Err(refusal(message.to_owned(), help));
    }
    let missing = |error: KernelError| UnsupportedSetup { message: error.to_string(), help: None };
    KernelBottleneck::load().map(drop).map_err(missing)
}

/// Returns whether the kernel's own qdiscs take the place of markers.
fn has_qdiscs(setup: &Setup) -> bool {
    let mut marks = setup.network.links.iter().map(|link| &from_switch(link).port.mark);
    marks.any(|mark| mark.name() != STEP && *mark != MarkSpec::NONE)
}

/// Returns the kernel's qdiscs in the place of our markers, by host, if `setup` has others than
/// step marking. With
/// [`BottleneckKind::KernelFqCodel`] codel has a queue for each flow.
pub(super) fn qdiscs(
    setup: &Setup,
    plans: &[HostPlan],
    kind: BottleneckKind,
) -> Result<Option<Vec<Vec<String>>>, UnsupportedSetup> {
    let lines = || setup.network.links.iter().map(from_switch);
    let fair = kind == BottleneckKind::KernelFqCodel;
    if fair && lines().any(|line| line.port.mark.name() != CODEL) {
        let message = "the kernel's `fq_codel` is in place of the marker `codel`".to_owned();
        return Err(refusal(message, "`switch.mark.kind = \"codel\"`, or `--bottleneck kernel`"));
    }
    if !has_qdiscs(setup) {
        return Ok(None);
    }
    let all = plans.iter().zip(lines()).map(|(plan, line)| aqm::qdisc(line, plan.mtu, fair));
    all.collect::<Result<_, _>>().map(Some)
}

/// Tries the qdiscs, and that of the links' delay.
fn try_qdiscs(qdiscs: &[Vec<String>], delay: Duration) -> Result<(), UnsupportedSetup> {
    let none = |error: &dyn Display| UnsupportedSetup {
        message: format!("this kernel does not take a qdisc of the scenario: {error}"),
        help: Some("`--bottleneck user` has the markers of the simulator".to_owned()),
    };
    let namespace = Namespace::new().map_err(|e| none(&e))?;
    let delays = (delay > Duration::ZERO).then(|| shaper::delay(delay));
    let mut all = qdiscs.iter().chain(&delays);
    all.try_for_each(|qdisc| shaper::tried(&namespace, qdisc)).map_err(|e| none(&e))
}

fn check_port(port: &PortSpec) -> Result<(), UnsupportedSetup> {
    let least = Bytes::new(u64::from(MAX_PACKETS) * 1000);
    let fits = match port.buffer {
        BufferSpec::Static(QueueLength::Packets(n)) => n <= u64::from(MAX_PACKETS),
        BufferSpec::Static(QueueLength::Bytes(n)) => n <= least,
        BufferSpec::Unlimited | BufferSpec::Dynamic { .. } => false,
    };
    if fits {
        return Ok(());
    }
    let message = format!("the kernel's bottleneck has static buffers of {MAX_PACKETS} packets");
    Err(refusal(message, "choose a smaller `switch.buffer`, or `--bottleneck user`"))
}

/// Returns the settings of the ports, by host, for a setup that [`check`] has accepted.
pub(super) fn ports(setup: &Setup, plans: &[HostPlan], departure_times: bool) -> Vec<PortSettings> {
    let links = plans.iter().zip(&setup.network.links);
    let port = |(plan, link): (&HostPlan, &LinkSpec)| {
        let line = from_switch(link);
        let mark = Some(line.port.mark.values()).filter(|_| line.port.mark.name() == STEP);
        PortSettings {
            address: plan.address,
            rate: line.rate,
            overhead: link.framing.overhead() as u32,
            k: mark.map(|values| values.length("k")),
            buffer: match line.port.buffer {
                BufferSpec::Static(size) => Some(size),
                BufferSpec::Unlimited | BufferSpec::Dynamic { .. } => None,
            },
            count_in_service: line.port.count_in_service,
            drop_not_ect: mark.is_some_and(|values| values.name("not-ect") == "drop"),
            shaper: if departure_times {
                // Of both lines: a shaper at the host would count delayed packets as unsent.
                Shaper::DepartureTimes { delay: line.delay + from_host(link).delay }
            } else {
                let frame = Bytes::new(u64::from(plan.mtu) + link.framing.overhead());
                Shaper::TokenBucket { lead: shaper::LEAD, packet: line.rate.serialization(frame) }
            },
        }
    };
    links.map(port).collect()
}

/// Differences of the kernel's bottleneck from a scenario's network.
pub(crate) fn differences(setup: &Setup, kind: BottleneckKind) -> Vec<String> {
    let mut all =
        vec!["queues of hosts are not counted: a shaper of the kernel is their NIC".to_owned()];
    if setup.warmup > Duration::ZERO {
        all.push(
            "the longest queue in bytes is that of the whole run, with its warm-up".to_owned(),
        );
    }
    if setup.probes.queues {
        all.push("the kernel's bottleneck has no queue lengths over time".to_owned());
    }
    if has_qdiscs(setup) {
        let text = "queues of the kernel's qdiscs are sampled each 5 ms; arrivals by length, and when a \
                    packet departs, are not known";
        all.push(text.to_owned());
    }
    if kind == BottleneckKind::KernelFqCodel {
        all.push("`fq_codel` has a queue for each flow, the simulator has one".to_owned());
    }
    all
}
