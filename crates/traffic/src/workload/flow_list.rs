//! Flows from a file: the user's own trace, or the lists of other simulators.
//!
//! ## What it does
//! Reads `file` as `format` says and starts each flow at its time, `start` later. A flow's number within
//! the group is its place in the file. Hosts are numbers of the whole network, from zero in the order of
//! the scenario, or names (CSV). Where `from` or `to` are given, the file may name only those hosts.
//!
//! - `csv`: a header with `src`, `dst`, `bytes`, `start` in any order, further columns ignored; `start`
//!   in seconds or with a unit, `bytes` plain or with a unit.
//! - `hpcc`: the number of flows, then `src dst pg dport size start` with `start` in seconds.
//! - `htsim`: `Nodes n`, `Connections m`, then `src->dst start T size S` with `T` in picoseconds.

use super::{Args, Ends, Entry, Param, ParamKind, Refusal, Site, Traffic};
use crate::deal::START;
use crate::list::{self, Hosts};
use crate::{Flow, Source};

/// Registration.
pub static ENTRY: Entry = Entry {
    name: "flow-list",
    summary: "flows from a file: CSV, HPCC's flow.txt or htsim's connection matrix",
    ends: Ends::Listed,
    params: &[
        Param {
            name: "file",
            kind: ParamKind::File,
            default: None,
            doc: "The file with the flows.",
        },
        Param {
            name: "format",
            kind: ParamKind::Choice(&["csv", "hpcc", "htsim"]),
            default: Some("csv"),
            doc: "How the file is written: docs/traffic.md has the three formats.",
        },
        START,
    ],
    traffic,
};

fn traffic(args: &Args, site: &Site) -> Result<Traffic, Refusal> {
    let Some(file) = args.file("file") else {
        return Err(Refusal::at("file", "no file of flows", "write `file = \"flows.csv\"`"));
    };
    let hosts = Hosts::new(site, &args.sources, &args.destinations);
    let read = match args.choice("format") {
        Some("hpcc") => list::hpcc,
        Some("htsim") => list::htsim,
        _ => list::csv,
    };
    let rows = read(&file.name, &file.text, &hosts).map_err(|e| Refusal::file("file", &e))?;
    let later = args.time("start");
    let flow = |row: list::Listed| Flow {
        group: args.group,
        src: row.src,
        dst: row.dst,
        size: Some(row.size),
        start: row.start + later,
        source: Source::AtOnce,
    };
    Ok(Traffic { flows: rows.into_iter().map(flow).collect(), askers: Vec::new() })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lowtide_units::{Bytes, Duration};

    use super::*;
    use crate::testing::{made, refused};
    use crate::workload::{ParamValue, UserFile};

    fn args(format: &'static str, text: &str) -> Args {
        let file = UserFile { name: "mine.txt".into(), text: text.into() };
        Args {
            group: 2,
            values: vec![
                ("file", ParamValue::File(Arc::new(file))),
                ("format", ParamValue::Choice(format)),
                ("start", ParamValue::Time(Duration::from_secs(1))),
            ],
            ..Args::default()
        }
    }

    #[test]
    fn each_format_gives_the_same_flow_and_all_start_later() {
        for (format, text) in [
            ("csv", "src,dst,bytes,start\n3,h.4,20 kB,0.5\n"),
            ("hpcc", "1\n3 4 3 100 20000 0.5\n"),
            ("htsim", "Nodes 16\nConnections 1\n3->4 start 500000000000 size 20000\n"),
        ] {
            let flows = made(&ENTRY, &args(format, text)).flows;
            let want = Flow {
                group: 2,
                src: 3,
                dst: 4,
                size: Some(Bytes::new(20_000)),
                start: lowtide_units::Instant::ZERO + Duration::from_ms(1_500),
                source: Source::AtOnce,
            };
            assert_eq!(flows, [want], "{format}");
        }
    }

    #[test]
    fn a_mistake_is_told_with_its_place_and_points_at_the_key() {
        let refusal = refused(&ENTRY, &args("csv", "src,dst,bytes,start\n3,3,5,0\n"));
        assert_eq!(refusal.key, Some("file"));
        assert!(refusal.message.starts_with("mine.txt:2:3: `3` sends to itself"), "{refusal}");
        assert!(refused(&ENTRY, &Args::default()).message.contains("no file"));
    }
}
