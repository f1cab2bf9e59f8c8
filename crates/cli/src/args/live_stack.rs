//! The host of lowtide's TCP on real packets: device, addresses, transport, memory.

use std::net::IpAddr;

use clap::{Args, ValueEnum};

use super::quantity::size;

/// Parses the memory of a host, which holds several connections at least.
fn memory(text: &str) -> Result<u64, String> {
    size(text).and_then(|n| match n {
        0x0010_0000..=0x0100_0000_0000 => Ok(n),
        _ => Err("expected 1M to 1024G".to_owned()),
    })
}

/// Parses the memory of a receive ring.
fn ring_memory(text: &str) -> Result<u64, String> {
    let bytes = if text == "0" { Ok(0) } else { size(text) };
    bytes.and_then(|n| match n {
        0..=0x4000_0000 => Ok(n),
        _ => Err("expected 0 to 1G".to_owned()),
    })
}

/// Network namespace of the command.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum NetnsArg {
    /// A new unnamed one, which ends with this command.
    New,
    /// The current one, even if it is the machine's own.
    Here,
}

/// Host of lowtide's TCP.
#[derive(Debug, Args)]
pub(crate) struct LiveStackArgs {
    /// Device: `tun:NAME` is created and ends with the command; `packet:NAME` exists, one end of a
    /// veth pair or another program's TUN interface
    #[arg(long, value_name = "KIND:NAME", default_value = "tun:lt0")]
    pub(crate) device: String,
    /// Our addresses with prefix lengths; the kernel has another address in each network
    #[arg(long = "addr", value_name = "ADDRESS/BITS", value_delimiter = ',',
          default_values = ["10.77.0.2/24", "fd77::2/64"])]
    pub(crate) addresses: Vec<String>,
    /// Kernel's address in such a network; default: the first of the network
    #[arg(long = "kernel-addr", value_name = "ADDRESS", value_delimiter = ',')]
    pub(crate) kernels: Vec<IpAddr>,
    /// MTU of the device and largest packet sent, bytes
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1280..))]
    pub(crate) mtu: u16,
    /// Exchange packets of several segments with the kernel: faster, but marks, timestamps and ACKs
    /// are per packet
    #[arg(long)]
    pub(crate) offload: bool,
    /// Network namespace; default: `new` with `--peer kernel`, else the current one unless it is
    /// the machine's own
    #[arg(long, value_enum)]
    pub(crate) netns: Option<NetnsArg>,
    /// Profile of our TCP (`lowtide list profiles`)
    #[arg(long, default_value = "linux")]
    pub(crate) profile: String,
    /// Scheme on top of the profile (`lowtide list schemes`); default: none
    #[arg(long)]
    pub(crate) scheme: Option<String>,
    /// Our congestion control (`lowtide list cc`); default: that of the scheme or profile
    #[arg(short = 'C', long, value_name = "NAME")]
    pub(crate) congestion: Option<String>,
    /// Set a switch of our TCP (`lowtide list switches`)
    #[arg(short = 's', long = "set", value_name = "SWITCH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Most half-open connections; further SYNs are answered with SYN cookies, or dropped with
    /// `-s syn-cookies=off`
    #[arg(long, value_name = "N", default_value_t = 4096,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) half_open: u32,
    /// Most memory of all connections together; above half of it each is limited to a fair share
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = memory)]
    pub(crate) memory: u64,
    /// Most memory of the receive ring of `packet:NAME`; 0 for none. There is none with `--offload`
    #[arg(long, value_name = "BYTES", default_value = "4M", value_parser = ring_memory)]
    pub(crate) rx_ring: u64,
    /// Most orphans: connections closed here that wait for their peer; beyond, the oldest is reset
    #[arg(long, value_name = "N", default_value_t = 1024,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) orphans: u32,
    /// User to run as once devices are open; default: the caller, without capabilities
    #[arg(long, value_name = "NAME|UID[:GROUP]")]
    pub(crate) user: Option<String>,
    /// Print one JSON object, as --json
    #[arg(short = 'J')]
    pub(crate) as_json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_may_be_absent_and_has_a_limit() {
        assert_eq!(ring_memory("0"), Ok(0));
        assert_eq!(ring_memory("4M"), Ok(4 << 20));
        assert!(ring_memory("2G").unwrap_err().contains("0 to 1G"));
        assert!(ring_memory("x").is_err());
    }
}
