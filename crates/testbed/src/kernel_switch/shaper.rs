//! Shapers of devices, with the command `tc`.

use std::process::Command;

use lowtide_live::LiveError;
use lowtide_live::netns::Namespace;
use lowtide_units::{Bytes, Duration, Rate};

use crate::error::TestbedError;

/// Size of a token bucket beyond one packet, as time on the line: a timer of the kernel that fires
/// later loses capacity. It is the spin time of the user-space bottleneck, by which threads of a
/// virtual machine wake late ([`crate::run`]).
pub(super) const LEAD: Duration = Duration::from_us(60);

const FQ: [&str; 5] = ["fq", "limit", "100000", "flow_limit", "100000"];

/// Bytes of Ethernet framing that the kernel does not count: preamble, checksum, gap.
const UNCOUNTED: u64 = 24;
/// Bytes of the Ethernet header.
pub(super) const HEADER: u64 = 14;
/// More bytes than a queue of the bottleneck, or the socket buffers of a host, can hold.
const LIMIT: u64 = 100_000_000;

/// Returns whether this kernel has `fq`.
pub(super) fn has_fq(namespace: &Namespace) -> bool {
    tried(namespace, &FQ.map(str::to_owned)).is_ok()
}

/// Tries a qdisc on the loopback interface of a namespace of ours.
pub(super) fn tried(namespace: &Namespace, qdisc: &[String]) -> Result<(), TestbedError> {
    let host = |error: LiveError| TestbedError::Command("tc".to_owned(), error.to_string());
    namespace.run(|| add("lo", "root", qdisc)).map_err(host)?
}

/// Puts a qdisc at `place` of a device.
fn add(device: &str, place: &str, qdisc: &[String]) -> Result<(), TestbedError> {
    let place = ["qdisc", "replace", "dev", device].into_iter().chain(place.split(' '));
    tc(&place.chain(qdisc.iter().map(String::as_str)).collect::<Vec<_>>()).map(drop)
}

/// Runs `tc` in this thread's namespace; returns its output.
pub(super) fn tc(arguments: &[&str]) -> Result<String, TestbedError> {
    let failed = |why: String| TestbedError::Command(format!("tc {}", arguments.join(" ")), why);
    let output = Command::new("tc")
        .args(arguments)
        .output()
        .map_err(|e| failed(format!("{e}; install iproute2")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// Shapes a device to the rate of an Ethernet line, behind its own queue or `inner`.
pub(super) fn token_bucket(
    device: &str,
    rate: Rate,
    mtu: u16,
    inner: Option<&[String]>,
) -> Result<(), TestbedError> {
    let ahead = u128::from(rate.as_bps()) * u128::from(LEAD.as_ns()) / 8_000_000_000;
    let burst = u128::from(mtu) + u128::from(HEADER) + ahead;
    let (rate, burst) = (format!("{}bit", rate.as_bps()), burst.to_string());
    let (limit, overhead) = (Bytes::new(LIMIT).as_u64().to_string(), UNCOUNTED.to_string());
    let shape = ["tbf", "rate", &rate, "burst", &burst, "limit", &limit, "overhead", &overhead];
    add(device, "root handle 1:", &shape.map(str::to_owned))?;
    inner.map_or(Ok(()), |qdisc| add(device, "parent 1:1 handle 10:", qdisc))
}

/// Holds each packet of a device until its departure time.
pub(super) fn departure_times(device: &str) -> Result<(), TestbedError> {
    add(device, "root", &FQ.map(str::to_owned))
}

/// Returns the qdisc of a delay.
pub(super) fn delay(delay: Duration) -> Vec<String> {
    let words = ["netem", "limit", "100000", "delay"].map(str::to_owned);
    words.into_iter().chain([format!("{}us", delay.as_ns() / 1000)]).collect()
}
