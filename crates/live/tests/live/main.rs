//! lowtide's TCP against the Linux kernel's, in network namespaces without a name: each test makes its own, and it
//! is gone with the test, whatever ends it. Needs root and `/dev/net/tun`; without them each test says so and
//! does nothing. `LOWTIDE_LIVE_MB` sets how many megabytes a bulk transfer has.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]
#![expect(clippy::disallowed_methods, reason = "the kernel's ends are threads")]

mod bulk;
mod closing;
mod crowd;
mod forward;
mod many;
mod packet;
mod relay;
mod schedule;
mod setup;
mod taped;
mod world;
