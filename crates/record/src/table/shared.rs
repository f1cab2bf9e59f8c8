//! Columns that several tables share, with the same meaning: `..queue;` in the declaration of a
//! table inserts the columns of the group `queue`.

/// Appends the columns of a group to those of a table.
macro_rules! columns {
    // The queue in its run.
    (queue $head:tt {$($done:tt)*} $($rest:tt)*) => {
        crate::table::table! { $head {$($done)*
            queue: u32, "", "Number of the queue in its run.";
            name: String, "", "The queue's node and the next node.";
        } $($rest)* }
    };
    // Packets served by a queue.
    (served $head:tt {$($done:tt)*} $($rest:tt)*) => {
        crate::table::table! { $head {$($done)*
            packets: u64, "packets", "Packets serialised.";
            bytes: u64, "bytes", "IP bytes serialised.";
            marks: u64, "packets", "Packets marked here.";
            drops: u64, "packets", "Packets dropped here for lack of buffer.";
            aqm_drops: u64, "packets", "Packets dropped here by the marker.";
        } $($rest)* }
    };
    // Length of a queue.
    (length $head:tt {$($done:tt)*} $($rest:tt)*) => {
        crate::table::table! { $head {$($done)*
            max_bytes: u64, "bytes", "Maximum length, in bytes.";
            mean_packets: Option<f64>, "packets", "Mean length over time.";
            p50_packets: Option<u32>, "packets", "Median length over time.";
            p99_packets: Option<u32>, "packets", "99th percentile of the length over time.";
            p999_packets: Option<u32>, "packets", "99.9th percentile of the length over time.";
            max_packets: Option<u32>, "packets", "Maximum length, in packets.";
        } $($rest)* }
    };
    // The link behind a queue.
    (line $head:tt {$($done:tt)*} $($rest:tt)*) => {
        crate::table::table! { $head {$($done)*
            rate_bps: u64, "bit/s", "Rate of the link.";
            observed_ps: u64, "ps", "Length of the observation.";
        } $($rest)* }
    };
    // The flow in its run.
    (flow $head:tt {$($done:tt)*} $($rest:tt)*) => {
        crate::table::table! { $head {$($done)*
            flow: u32, "", "Number of the flow.";
            group: String, "", "Traffic group of the flow.";
        } $($rest)* }
    };
    // Limits of a sender.
    (window $head:tt {$($done:tt)*} $($rest:tt)*) => {
        crate::table::table! { $head {$($done)*
            cwnd_bytes: u64, "bytes", "Congestion window.";
            ssthresh_bytes: Option<u64>, "bytes", "Slow-start threshold; null before the first reaction.";
            srtt_ns: Option<u64>, "ns", "Smoothed round-trip time.";
        } $($rest)* }
    };
}
pub(crate) use columns;
