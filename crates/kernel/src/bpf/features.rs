//! Differences between kernels that the type information of the running one shows.

use libbpf_rs::btf::{Btf, types};

/// `BPF_F_LINK` of `include/uapi/linux/bpf.h`.
const F_LINK: u32 = 1 << 13;

/// Features of the running kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Features {
    /// The start of sending is a separate operation, not an event.
    pub tx_start: bool,
    /// Links of struct_ops, which end with their last descriptor or pin. Without them a control is
    /// registered until its map is told.
    pub links: bool,
}

impl Features {
    pub(super) fn of_this_kernel() -> Result<Self, libbpf_rs::Error> {
        let btf = Btf::from_vmlinux()?;
        let ops = btf.type_by_name::<types::Struct<'_>>("tcp_congestion_ops");
        let is_tx_start = |name: &std::ffi::OsStr| name == "cwnd_event_tx_start";
        Ok(Self {
            tx_start: ops.is_some_and(|ops| ops.iter().any(|m| m.name.is_some_and(is_tx_start))),
            links: btf.type_by_name::<types::Struct<'_>>("bpf_struct_ops_link").is_some(),
        })
    }

    /// Returns the flags of a control's map, given those of the object.
    pub(super) fn map_flags(self, flags: u32) -> u32 {
        if self.links { flags } else { flags & !F_LINK }
    }
}
