//! The connection matrix of htsim.
//!
//! `Nodes n` and `Connections m`, then a line per connection: `src->dst id 1 start 0 size 2000000`.
//! Hosts are numbers below `n`, sizes are in bytes. Starts are in picoseconds, as htsim reads them;
//! its old releases wrote microseconds with a fraction, which are rejected. Triggers, priorities
//! and failures are rejected by name, as is size 0, which is unlimited in htsim.

use super::{HostLookup, ListedFlow, parse_count, push_flow, size, unexpected_end};
use crate::text_file::{FileError, FileLine, lines, quoted};
use lowtide_units::Instant;

const ROW: &str = "write `src->dst start T size S`, as `1->0 id 1 start 0 size 2000000`";

pub(crate) fn read(
    file: &str,
    text: &str,
    hosts: &HostLookup<'_>,
) -> Result<Vec<ListedFlow>, FileError> {
    let mut rows = Vec::new();
    let (mut nodes, mut connections) = (None, None);
    let mut last = 0;
    for line in lines(file, text) {
        last = line.number;
        let mut words = line.content().split_ascii_whitespace();
        let Some(first) = words.next() else { continue };
        if let Some((src, dst)) = first.split_once("->") {
            let Some(nodes) = nodes else {
                return Err(line.line_error("a connection before `Nodes`", "begin with `Nodes n`"));
            };
            for end in [src, dst] {
                if parse_count(&line, end, "a node")? >= nodes {
                    let message = format!("node {} is not below `Nodes {nodes}`", quoted(end));
                    return Err(line.field_error(end, message, "nodes are numbered from zero"));
                }
            }
            let (src, dst) = hosts.endpoints(&line, src, dst)?;
            let (size, start) = connection(&line, words)?;
            push_flow(&mut rows, ListedFlow { src, dst, size, start }, &line)?;
            continue;
        }
        let value = words.next();
        match (first, value) {
            ("Nodes", Some(n)) => nodes = Some(parse_count(&line, n, "nodes")?),
            ("Connections", Some(n)) => connections = Some(parse_count(&line, n, "connections")?),
            ("Triggers" | "Failures", Some("0")) => {}
            ("Triggers" | "trigger" | "Failures" | "failure", _) => {
                return Err(unsupported(&line, first));
            }
            _ => {
                let message = format!("{} is not a line of a connection matrix", quoted(first));
                return Err(line.field_error(first, message, ROW));
            }
        }
    }
    let Some(connections) = connections else {
        return Err(unexpected_end(
            file,
            last,
            "no line `Connections m`".into(),
            "write it below `Nodes n`",
        ));
    };
    if rows.is_empty() || rows.len() as u64 != connections {
        let message = format!("{} connections, but `Connections` says {connections}", rows.len());
        return Err(unexpected_end(
            file,
            last,
            message,
            "correct the number, or complete the file",
        ));
    }
    Ok(rows)
}

fn unsupported(line: &FileLine<'_>, word: &str) -> FileError {
    let message = format!("{} is not supported", quoted(word));
    line.field_error(word, message, "only `id`, `start` and `size` of connections are read")
}

/// Reads the keywords of a connection after its two ends.
fn connection<'a>(
    line: &FileLine<'a>,
    mut words: impl Iterator<Item = &'a str>,
) -> Result<(lowtide_units::Bytes, Instant), FileError> {
    let (mut bytes, mut start) = (None, None);
    while let Some(word) = words.next() {
        if !matches!(word, "id" | "start" | "size") {
            return Err(unsupported(line, word));
        }
        let Some(value) = words.next() else {
            return Err(line.field_error(word, format!("`{word}` without a number"), ROW));
        };
        match word {
            "size" => bytes = Some(size(line, value)?),
            "start" => start = Some(picoseconds(line, value)?),
            _ => {
                parse_count(line, value, "a flow")?;
            }
        }
    }
    match (bytes, start) {
        (Some(bytes), Some(start)) => Ok((bytes, start)),
        (None, _) => Err(line.line_error("a connection without `size`", ROW)),
        (_, None) => Err(line.line_error("a connection without `start`", ROW)),
    }
}

fn picoseconds(line: &FileLine<'_>, field: &str) -> Result<Instant, FileError> {
    let (whole, fraction) = field.split_once('.').unwrap_or((field, ""));
    if !fraction.is_empty() && fraction.bytes().any(|b| b != b'0') {
        let message = format!("{} has a fraction: microseconds of an old release", quoted(field));
        return Err(line.field_error(field, message, "write picoseconds"));
    }
    let ps = whole.parse::<u64>().ok().filter(|ps| *ps < u64::MAX);
    ps.map(Instant::from_ps).ok_or_else(|| {
        line.field_error(
            field,
            super::not_a(field, "time"),
            "write picoseconds from the start of the run",
        )
    })
}
