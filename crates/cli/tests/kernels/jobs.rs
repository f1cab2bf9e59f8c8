//! The jobs of the suite: what runs on a machine, and who judges it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use crate::{comparison, refusals};

/// Judges the lines of a job; it panics if they are wrong.
type Judge = fn(&[Value]);

/// A job of [`crate::guest`].
pub(crate) struct GuestJob {
    pub(crate) name: &'static str,
    /// Kernels that can run it: from the first version to below the second.
    pub(crate) kernels: [(u32, u32); 2],
    /// Why others cannot.
    pub(crate) why: &'static str,
    pub(crate) tests: &'static [(&'static str, Judge)],
}

/// The oldest Linux on which the BPF controls load.
const TWINS: (u32, u32) = (6, 1);
const NO_TWINS: &str = "the BPF controls need Linux 6.1";
const ANY: (u32, u32) = (u32::MAX, 0);

pub(crate) const GUEST_JOBS: [GuestJob; 4] = [
    GuestJob {
        name: "compare",
        kernels: [TWINS, ANY],
        why: NO_TWINS,
        tests: &[
            ("lt_dctcp beside dctcp, ACK by ACK", comparison::lt_dctcp_follows_tcp_dctcp),
            ("lt_dctcp beside dctcp, receiving", comparison::receivers_agree),
        ],
    },
    GuestJob {
        name: "bulk",
        kernels: [TWINS, ANY],
        why: NO_TWINS,
        tests: &[("lt_dctcp beside dctcp, bulk flows", comparison::bulk_flows_have_equal_windows)],
    },
    GuestJob {
        name: "refusals",
        kernels: [TWINS, ANY],
        why: NO_TWINS,
        tests: &[("kernel load, what is missing", refusals::names_type_information_and_modules)],
    },
    GuestJob {
        name: "load",
        kernels: [TWINS, ANY],
        why: NO_TWINS,
        tests: &[("kernel load, each control", refusals::each_control_loads)],
    },
];

/// Runs a judge; its panic is the error.
pub(crate) fn judged(judge: impl FnOnce()) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(judge)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_default()
    })
}
