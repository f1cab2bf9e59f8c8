//! Columns that several tables share, with the same meaning: `..queue;` in the declaration of a
//! table inserts the columns `queue` into its struct. Counters that are filled together are a
//! group instead.

/// Appends the shared columns to those of a table.
macro_rules! columns {
    // The queue in its run.
    (queue $head:tt {$($done:tt)*} $($rest:tt)*) => {
        crate::table::group! { $head {$($done)*
            queue: u32, "", "Number of the queue in its run.";
            name: std::sync::Arc<str>, "", "The queue's node and the next node.";
        } $($rest)* }
    };
    // The link behind a queue.
    (line $head:tt {$($done:tt)*} $($rest:tt)*) => {
        crate::table::group! { $head {$($done)*
            rate_bps: u64, "bit/s", "Rate of the link.";
            observed_ps: u64, "ps", "Length of the observation.";
        } $($rest)* }
    };
    // The flow in its run.
    (flow $head:tt {$($done:tt)*} $($rest:tt)*) => {
        crate::table::group! { $head {$($done)*
            flow: u32, "", "Number of the flow.";
            group: std::sync::Arc<str>, "", "Traffic group of the flow.";
        } $($rest)* }
    };
    // Limits of a sender.
    (window $head:tt {$($done:tt)*} $($rest:tt)*) => {
        crate::table::group! { $head {$($done)*
            cwnd_bytes: u64, "bytes", "Congestion window.";
            ssthresh_bytes: Option<u64>, "bytes", "Slow-start threshold; null before the first reaction.";
            srtt_ns: Option<u64>, "ns", "Smoothed round-trip time.";
        } $($rest)* }
    };
}
pub(crate) use columns;
