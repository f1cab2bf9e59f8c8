//! Scenarios that the kernel's bottleneck can run, and the settings of its ports.

use lowtide_host::Setup;
use lowtide_kernel::{KernelBottleneck, KernelError, MAX_PACKETS, PortSettings, Shaper};
use lowtide_lab::UnsupportedSetup;
use lowtide_live::netns::Namespace;
use lowtide_net::aqm::MarkSpec;
use lowtide_net::{BufferSpec, Framing, LineSpec, LinkSpec, NodeId, PortSpec};
use lowtide_units::{Bytes, Duration, Fraction, QueueLength};

use super::shaper;
use crate::plan::{HostPlan, HostStack};

/// The marker that the kernel's bottleneck has.
const STEP: &str = "step";

/// Returns the line of a link from the switch.
pub(super) fn from_switch(link: &LinkSpec) -> &LineSpec {
    link.line(matches!(link.b, NodeId::Switch(_)))
}

/// Returns the line of a link from the host.
pub(super) fn from_host(link: &LinkSpec) -> &LineSpec {
    link.line(!matches!(link.b, NodeId::Switch(_)))
}

fn refusal<T>(message: String, help: &str) -> Result<T, UnsupportedSetup> {
    Err(UnsupportedSetup { message, help: Some(help.to_owned()) })
}

/// Checks that the kernel's bottleneck has what `setup` needs, and that this binary and this kernel
/// have its programs.
pub(crate) fn check(setup: &Setup, plans: &[HostPlan]) -> Result<(), UnsupportedSetup> {
    let user = "`--bottleneck user` has it";
    let network = &setup.network;
    if let Some(plan) = plans.iter().find(|p| matches!(p.stack, HostStack::Lowtide(_))) {
        let message = format!("host `{}` has lowtide's TCP, which has no device", plan.name);
        return refusal(message, "with `--bottleneck kernel` all hosts need the kernel's TCP");
    }
    if network.switches.len() != 1 {
        let message = "the kernel's bottleneck is one switch, not several".to_owned();
        return refusal(message, "`topology.kind = \"star\"`; `--bottleneck user` has all of them");
    }
    if network.switches.iter().any(|switch| switch.memory.is_some()) {
        return refusal("the kernel's bottleneck has no shared buffer memory".to_owned(), user);
    }
    if !network.failures.is_empty() {
        return refusal("the kernel's bottleneck has no link failures".to_owned(), user);
    }
    for link in &network.links {
        let port = &from_switch(link).port;
        check_port(port)?;
        if link.framing != Framing::Ethernet {
            let message = "the kernel's bottleneck counts Ethernet framing".to_owned();
            return refusal(message, "`topology.framing = \"ethernet\"`, or `--bottleneck user`");
        }
        if [&link.from_a, &link.from_b].iter().any(|line| line.loss != Fraction::ZERO) {
            return refusal("the kernel's bottleneck has no random loss".to_owned(), user);
        }
    }
    let delays = || network.links.iter().flat_map(|l| [l.from_a.delay, l.from_b.delay]);
    let first = delays().next().unwrap_or_default();
    if delays().any(|delay| delay != first) {
        return refusal("the kernel's bottleneck needs links of one delay".to_owned(), user);
    }
    if first > Duration::ZERO && !Namespace::new().is_ok_and(|new| shaper::has_fq(&new)) {
        let message = "this kernel has no `fq`, which holds packets for the delay of a link";
        let help = "`-s topology.link-delay='0 s'`: the round trip is then that of the kernel";
        return refusal(message.to_owned(), help);
    }
    let missing = |error: KernelError| UnsupportedSetup { message: error.to_string(), help: None };
    KernelBottleneck::load().map(drop).map_err(missing)
}

fn check_port(port: &PortSpec) -> Result<(), UnsupportedSetup> {
    let name = port.mark.name();
    if name != STEP && port.mark != MarkSpec::NONE {
        let message = format!("the kernel's bottleneck marks by `step`, not by `{name}`");
        return refusal(message, "`switch.mark.kind = \"step\"`, or `--bottleneck user`");
    }
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
    refusal(message, "choose a smaller `switch.buffer`, or `--bottleneck user`")
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
pub(crate) fn differences(setup: &Setup) -> Vec<String> {
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
    all
}
