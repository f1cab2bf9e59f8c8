//! Lists of flows in files: source, destination, size and start of each.
//!
//! Contract: a file is read line by line, its first error is reported with line and column, and
//! nothing that would change the traffic is skipped. Flows keep the order of the file.

use std::collections::BTreeMap;

use lowtide_units::{Bytes, Duration, Instant, parse_bytes, parse_duration};

use crate::api::WorkloadContext;
use crate::error::MAX_CONNECTIONS;
use crate::text_file::{FileError, FileLine, quoted, scaled};

mod csv;
mod hpcc;
mod htsim;

pub(crate) use csv::read as csv;
pub(crate) use hpcc::read as hpcc;
pub(crate) use htsim::read as htsim;

/// Picoseconds per second.
const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// A row of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ListedFlow {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) size: Bytes,
    pub(crate) start: Instant,
}

/// Hosts that a file may name.
pub(crate) struct HostLookup<'a> {
    numbers: BTreeMap<&'a str, u32>,
    sources: Option<Vec<bool>>,
    destinations: Option<Vec<bool>>,
}

impl<'a> HostLookup<'a> {
    /// Allows all hosts, or only those of each list that is not empty.
    pub(crate) fn new(ctx: &'a WorkloadContext, sources: &[u32], destinations: &[u32]) -> Self {
        let limits = |list: &[u32]| {
            let mut allowed = vec![list.is_empty(); ctx.hosts.len()];
            for host in list {
                if let Some(allowed) = allowed.get_mut(*host as usize) {
                    *allowed = true;
                }
            }
            (!list.is_empty()).then_some(allowed)
        };
        let numbers = (0..).zip(ctx.hosts.iter()).map(|(i, host)| (host.name.as_str(), i));
        Self {
            numbers: numbers.collect(),
            sources: limits(sources),
            destinations: limits(destinations),
        }
    }

    /// Finds the host named by a field, by number or name.
    fn find(&self, line: &FileLine<'_>, field: &str) -> Result<u32, FileError> {
        let count = self.numbers.len();
        let number = field.parse::<u32>().ok().filter(|n| (*n as usize) < count);
        if let Some(host) = number.or_else(|| self.numbers.get(field).copied()) {
            return Ok(host);
        }
        let example = self.numbers.keys().next().copied().unwrap_or("senders.0");
        let help =
            format!("write a number from 0 to {}, or a name as `{example}`", count.max(1) - 1);
        Err(line.field_error(field, format!("there is no host {}", quoted(field)), help))
    }

    /// Finds the two ends of a flow.
    pub(crate) fn endpoints(
        &self,
        line: &FileLine<'_>,
        src: &str,
        dst: &str,
    ) -> Result<(u32, u32), FileError> {
        let (from, to) = (self.find(line, src)?, self.find(line, dst)?);
        if from == to {
            let message = format!("{} sends to itself", quoted(src));
            return Err(line.field_error(
                dst,
                message,
                "name another destination, or delete the line",
            ));
        }
        let lists = [(&self.sources, from, src, "from"), (&self.destinations, to, dst, "to")];
        for (list, host, field, key) in lists {
            let allowed = list.as_ref().is_none_or(|l| l.get(host as usize) == Some(&true));
            if !allowed {
                let message = format!("{} is not among the hosts of `{key}`", quoted(field));
                return Err(line.field_error(
                    field,
                    message,
                    format!("add it there, or delete `{key}`"),
                ));
            }
        }
        Ok((from, to))
    }
}

/// Reads a size: a number of bytes, or a number with a unit.
fn size(line: &FileLine<'_>, field: &str) -> Result<Bytes, FileError> {
    let help = "write bytes above zero, as 20000 or 20 kB";
    let bytes = scaled(field, 1).or_else(|| parse_bytes(field).ok().map(Bytes::as_u64));
    match bytes {
        Some(0) => Err(line.field_error(field, "a flow of zero bytes", help)),
        Some(bytes) => Ok(Bytes::new(bytes)),
        None => Err(line.field_error(field, not_a(field, "size"), help)),
    }
}

/// Reads a time: a number of seconds, or a number with a unit.
fn time(line: &FileLine<'_>, field: &str) -> Result<Instant, FileError> {
    let ps =
        scaled(field, PS_PER_SECOND).or_else(|| parse_duration(field).ok().map(Duration::as_ps));
    let help = "write seconds from the start of the run, as 0.25, or a time as 250 ms";
    // `never` is a valid duration elsewhere.
    match ps.filter(|ps| *ps < u64::MAX) {
        Some(ps) => Ok(Instant::from_ps(ps)),
        None => Err(line.field_error(field, not_a(field, "time"), help)),
    }
}

fn not_a(field: &str, what: &str) -> String {
    match field {
        "" => format!("a {what} is missing"),
        _ if field.starts_with('-') => format!("{} is negative", quoted(field)),
        _ => format!("{} is not a {what}", quoted(field)),
    }
}

/// Appends a row, up to the limit.
fn push_flow(
    rows: &mut Vec<ListedFlow>,
    row: ListedFlow,
    line: &FileLine<'_>,
) -> Result<(), FileError> {
    if rows.len() as u64 == MAX_CONNECTIONS {
        let message = format!("more than {MAX_CONNECTIONS} flows");
        return Err(line.line_error(message, "split the file into several runs"));
    }
    rows.push(row);
    Ok(())
}

/// Reads a whole number.
fn parse_count(line: &FileLine<'_>, field: &str, what: &str) -> Result<u64, FileError> {
    field.parse().map_err(|_| {
        let message = format!("{} is not a number of {what}", quoted(field));
        line.field_error(field, message, "write a whole number")
    })
}

/// Returns an error for a file that ends too early.
fn unexpected_end(file: &str, last: u64, message: String, help: &str) -> FileError {
    FileLine { file, number: last.max(1), text: "" }.line_error(message, help)
}

#[cfg(test)]
mod tests;
