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
