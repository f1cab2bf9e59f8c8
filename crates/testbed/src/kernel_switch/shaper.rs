//! Shapers of devices, with the command `tc`.

use std::process::Command;

use lowtide_live::netns::Namespace;
use lowtide_units::{Bytes, Duration, Rate};

use crate::error::TestbedError;

/// Size of a token bucket beyond one packet, as time on the line: a timer of the kernel that fires
/// later loses capacity. It is the spin time of the user-space bottleneck, by which threads of a
/// virtual machine wake late ([`crate::run`]).
pub(super) const LEAD: Duration = Duration::from_us(60);

/// Bytes of Ethernet framing that the kernel does not count: preamble, checksum, gap.
const UNCOUNTED: u64 = 24;
/// Bytes of the Ethernet header.
const HEADER: u64 = 14;
/// More bytes than a queue of the bottleneck, or the socket buffers of a host, can hold.
const LIMIT: u64 = 100_000_000;

/// Returns whether this kernel has `fq`, tried on the loopback interface of a namespace of ours.
pub(super) fn has_fq(namespace: &Namespace) -> bool {
    namespace.run(|| departure_times("lo").is_ok()).unwrap_or(false)
}

/// Runs `tc` in this thread's namespace.
fn tc(arguments: &[&str]) -> Result<(), TestbedError> {
    let failed = |why: String| TestbedError::Command(format!("tc {}", arguments.join(" ")), why);
    let output = Command::new("tc")
        .args(arguments)
        .output()
        .map_err(|e| failed(format!("{e}; install iproute2")))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// Shapes a device to the rate of an Ethernet line.
pub(super) fn token_bucket(device: &str, rate: Rate, mtu: u16) -> Result<(), TestbedError> {
    let ahead = u128::from(rate.as_bps()) * u128::from(LEAD.as_ns()) / 8_000_000_000;
    let burst = u128::from(mtu) + u128::from(HEADER) + ahead;
    let (rate, burst) = (format!("{}bit", rate.as_bps()), burst.to_string());
    let (limit, overhead) = (Bytes::new(LIMIT).as_u64().to_string(), UNCOUNTED.to_string());
    let shape = ["rate", &rate, "burst", &burst, "limit", &limit, "overhead", &overhead];
    tc(&[&["qdisc", "replace", "dev", device, "root", "tbf"], &shape[..]].concat())
}

/// Holds each packet of a device until its departure time.
pub(super) fn departure_times(device: &str) -> Result<(), TestbedError> {
    let limits = ["limit", "100000", "flow_limit", "100000"];
    tc(&[&["qdisc", "replace", "dev", device, "root", "fq"], &limits[..]].concat())
}
