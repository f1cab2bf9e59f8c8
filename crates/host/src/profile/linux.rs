//! Linux with a common NIC of today.

use lowtide_tcp::profile::set;
use lowtide_units::{Bytes, Duration};

use super::HostProfile;
use crate::clocks::clock::ClockSpec;
use crate::datapath::nic::{AggregationSpec, NicSpec};

/// Registration.
pub static ENTRY: HostProfile = HostProfile {
    name: "linux",
    summary: "Linux 6.18 with a common NIC: TSO and GRO of 64 KB, interrupts 8 us apart",
    nic: NicSpec {
        moderation: Duration::from_us(8),
        aggregation: Some(AggregationSpec {
            interval: Duration::ZERO,
            max_bytes: Bytes::new(65_000),
        }),
        ..NicSpec::IDEAL
    },
    clock: ClockSpec::IDEAL,
    transport: &[
        set(
            "tso-segments",
            "45",
            "sk_gso_max_size: 64 KiB less MAX_TCP_HEADER, in segments of 1448 B",
        ),
        set("rto-granularity", "4 ms", "one jiffy at CONFIG_HZ = 250"),
    ],
    sources: &[
        set(
            "moderation",
            "8 us",
            "mlx5e: MLX5E_PARAMS_DEFAULT_RX_CQ_MODERATION_USEC_FROM_CQE; other drivers have 3 us to 50 us",
        ),
        set(
            "aggregate",
            "0 s",
            "net.core gro_flush_timeout = 0: GRO ends with the poll that it began in",
        ),
        set("aggregate-size", "65000 B", "GRO_LEGACY_MAX_SIZE, 64 KiB with headers"),
    ],
    omits: "TSO autosizing, which changes nothing here: tcp_tso_rtt_log = 9 allows 64 KB below a round trip of 512 us at any rate; adaptive moderation (DIM); the moderation's limit of 32 packets; TCP small queues, whose limit follows a pacing rate: `tsq-limit` is the knob; the delay of the stack, for which no public figure holds in general (DX Table I has about 100 us under load): `stack` is the knob",
};
