//! Real TCP through the network: lowtide's over a line in memory, which needs no right at all, and the Linux kernel's in
//! namespaces without a name, which needs root and `/dev/net/tun`; without them a test says so and does
//! nothing. `LOWTIDE_LIVE_MB` sets how many megabytes are moved through each setting.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

mod delay;
mod ethernet;
mod ours;
mod pairs;
mod setup;
mod soak;
mod world;
