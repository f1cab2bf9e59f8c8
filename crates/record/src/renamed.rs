//! Tables and columns that had another name up to `lowtide.manifest/2`, for commands and claims
//! that name them so.
//!
//! Contract: no present table or column has an old name.

/// Old and present names of tables.
const TABLES: &[(&str, &str)] = &[("memories", "buffer_pools")];

/// Old and present names of columns. The summary has the same names for the same counts.
const COLUMNS: &[(&str, &str)] = &[
    ("lost", "random_losses"),
    ("cut", "link_down_drops"),
    ("unrouted", "no_route_drops"),
    ("delack_found", "delack_detected"),
    ("delack_imagined", "delack_false_positives"),
    ("heard_ce_bytes", "delivered_ce_bytes"),
    ("warm_data_segs_out", "data_segs_out_after_warmup"),
    ("warm_ect_segs_out", "ect_segs_out_after_warmup"),
    ("warm_cwr_segs_out", "cwr_segs_out_after_warmup"),
    ("warm_data_segs_in", "data_segs_in_after_warmup"),
    ("warm_ce_segs_in", "ce_segs_in_after_warmup"),
    ("warm_acks_in", "acks_in_after_warmup"),
    ("warm_ece_acks_in", "ece_acks_in_after_warmup"),
    ("marked_bytes", "received_ce_bytes"),
    ("srtt_shown_ns", "srtt_quantised_ns"),
    ("ecn_wish", "ecn_requested"),
    ("stopped", "blocked_on"),
    ("asker", "query_client"),
    ("memory", "buffer_pool"),
];

fn present(names: &'static [(&str, &str)], name: &str) -> Option<&'static str> {
    names.iter().find(|(old, _)| *old == name).map(|(_, new)| *new)
}

/// The present name of a renamed table; `None` if it was not renamed.
pub fn renamed_table(name: &str) -> Option<&'static str> {
    present(TABLES, name)
}

/// The present name of a renamed column or metric; `None` if it was not renamed.
pub fn renamed_column(name: &str) -> Option<&'static str> {
    present(COLUMNS, name)
}

#[cfg(test)]
mod tests {
    use lowtide_rows::CATALOGUE;

    use super::*;

    #[test]
    fn new_names_exist_and_old_names_do_not() {
        let table = |name: &str| CATALOGUE.iter().any(|t| t.name == name);
        for (old, new) in TABLES {
            assert!(table(new) && !table(old), "{old} {new}");
        }
        let column =
            |name: &str| CATALOGUE.iter().any(|t| t.columns.iter().any(|c| c.name == name));
        for (old, new) in COLUMNS {
            assert!(column(new) && !column(old), "{old} {new}");
        }
    }
}
