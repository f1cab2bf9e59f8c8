//! Flows from a file: the user's own trace, or the lists of other simulators.
//!
//! ## Algorithm
//! Reads `file` in the given `format` and starts each flow `start` after its time in the file.
//! Flows of the group are numbered in the order of the file. Hosts are numbers of the whole
//! network, from zero in the order of the scenario, or names (CSV). If `from` or `to` are given,
//! the file may name only those hosts.
//!
//! - `csv`: a header with `src`, `dst`, `bytes`, `start` in any order, other columns ignored;
//!   `start` in seconds or with a unit, `bytes` plain or with a unit.
//! - `hpcc`: the number of flows, then `src dst pg dport size start` with `start` in seconds.
//! - `htsim`: `Nodes n`, `Connections m`, then `src->dst start T size S` with `T` in picoseconds.

use lowtide_schema::DefaultValue::{Is, Required};
use lowtide_schema::{Param, ValueKind};

use super::{
    Arrivals, HostSelection, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry, WorkloadError,
};
use crate::list::{self, HostLookup};
use crate::round_robin::START;
use crate::{Flow, WritePattern};

/// Registration.
pub static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "flow-list",
    summary: "flows from a file: CSV, HPCC's flow.txt or htsim's connection matrix",
    spec: "lowtide; the formats are those of HPCC and htsim",
    host_selection: HostSelection::FromFile,
    arrivals: Arrivals::Listed,
    params: &[
        Param {
            name: "file",
            kind: ValueKind::File,
            default: Required,
            doc: "The file with the flows.",
            source: "lowtide",
        },
        Param {
            name: "format",
            kind: ValueKind::Choice(&["csv", "hpcc", "htsim"]),
            default: Is("csv"),
            doc: "Format of the file; docs/reference/traffic.md describes all three.",
            source: "HPCC `flow.txt`, htsim connection matrix; `csv` is lowtide",
        },
        START,
    ],
    traffic,
};

fn traffic(args: &WorkloadArgs, ctx: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    let Some(file) = args.find_file("file") else {
        return Err(WorkloadError::at("file", "no file of flows", "write `file = \"flows.csv\"`"));
    };
    let hosts = HostLookup::new(ctx, &args.sources, &args.destinations);
    let read = match args.values.name("format") {
        "hpcc" => list::hpcc,
        "htsim" => list::htsim,
        _ => list::csv,
    };
    let rows = read(&file.name, &file.text, &hosts).map_err(|e| WorkloadError::file("file", &e))?;
    let later = args.values.duration("start");
    let flow = |row: list::ListedFlow| Flow {
        group: args.group,
        src: row.src,
        dst: row.dst,
        size: Some(row.size),
        start: row.start + later,
        write_pattern: WritePattern::Bulk,
    };
    Ok(Traffic { flows: rows.into_iter().map(flow).collect(), ..Traffic::default() })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lowtide_units::{Bytes, Duration};

    use super::*;
    use crate::testing::{generate, generate_err};
    use crate::workload::UserFile;

    fn args(format: &'static str, text: &str) -> WorkloadArgs {
        let file = UserFile { name: "mine.txt".into(), text: text.into() };
        WorkloadArgs {
            group: 2,
            files: [("file", Arc::new(file))].into(),
            ..ENTRY.args(&[("file", "mine.txt"), ("format", format), ("start", "1 s")]).unwrap()
        }
    }

    #[test]
    fn each_format_gives_the_same_flow_and_all_start_later() {
        for (format, text) in [
            ("csv", "src,dst,bytes,start\n3,h.4,20 kB,0.5\n"),
            ("hpcc", "1\n3 4 3 100 20000 0.5\n"),
            ("htsim", "Nodes 16\nConnections 1\n3->4 start 500000000000 size 20000\n"),
        ] {
            let flows = generate(&ENTRY, &args(format, text)).flows;
            let want = Flow {
                group: 2,
                src: 3,
                dst: 4,
                size: Some(Bytes::new(20_000)),
                start: lowtide_units::Instant::ZERO + Duration::from_ms(1_500),
                write_pattern: WritePattern::Bulk,
            };
            assert_eq!(flows, [want], "{format}");
        }
    }

    #[test]
    fn an_error_has_its_location_and_points_at_the_key() {
        let refusal = generate_err(&ENTRY, &args("csv", "src,dst,bytes,start\n3,3,5,0\n"));
        assert_eq!(refusal.key, Some("file"));
        assert!(refusal.message.starts_with("mine.txt:2:3: `3` sends to itself"), "{refusal}");
        assert!(generate_err(&ENTRY, &WorkloadArgs::default()).message.contains("no file"));
    }
}
