//! The `flow.txt` of the HPCC simulator.
//!
//! The first line is the number of flows. Each of that many lines below is `src dst pg dport size
//! start`: hosts by number, priority group, destination port, bytes, seconds. Later lines are not
//! read, as in that simulator. The hosts assign ports here. Flows of different priority groups are
//! rejected.

use super::{HostLookup, ListedFlow, parse_count, push_flow, size, time, unexpected_end};
use crate::text_file::{FileError, lines, quoted};

const ROW: &str = "write `src dst pg dport size start`, as `0 1 3 100 200000 2.0`";

pub(crate) fn read(
    file: &str,
    text: &str,
    hosts: &HostLookup<'_>,
) -> Result<Vec<ListedFlow>, FileError> {
    let mut rows = Vec::new();
    let mut count = None;
    let mut group: Option<&str> = None;
    let mut last = 0;
    for line in lines(file, text) {
        if count == Some(rows.len() as u64) {
            break;
        }
        last = line.number;
        let mut fields = line.text.split_ascii_whitespace();
        let Some(first) = fields.next() else { continue };
        if count.is_none() {
            let flows = parse_count(&line, first, "flows")?;
            if let Some(more) = fields.next() {
                let help = "the first line is the number of flows alone";
                return Err(line.field_error(
                    more,
                    format!("{} is one field too many", quoted(more)),
                    help,
                ));
            }
            if flows == 0 {
                return Err(line.field_error(
                    first,
                    "a file of no flows",
                    "write the number of flows",
                ));
            }
            count = Some(flows);
            continue;
        }
        let (Some(dst), Some(pg), Some(port), Some(bytes), Some(start), None) = (
            fields.next(),
            fields.next(),
            fields.next(),
            fields.next(),
            fields.next(),
            fields.next(),
        ) else {
            let have = line.text.split_ascii_whitespace().count();
            return Err(line.line_error(format!("{have} fields, expected 6"), ROW));
        };
        parse_count(&line, port, "a port")?;
        parse_count(&line, pg, "a priority group")?;
        if *group.get_or_insert(pg) != pg {
            let message = format!("a second priority group, {}, is not supported", quoted(pg));
            return Err(line.field_error(
                pg,
                message,
                "write one file and one traffic group for each",
            ));
        }
        let (src, dst) = hosts.endpoints(&line, first, dst)?;
        let (size, start) = (size(&line, bytes)?, time(&line, start)?);
        push_flow(&mut rows, ListedFlow { src, dst, size, start }, &line)?;
    }
    match count {
        Some(count) if rows.len() as u64 == count => Ok(rows),
        Some(count) => {
            let message = format!("{} flows, but the first line says {count}", rows.len());
            Err(unexpected_end(file, last, message, "correct the first line"))
        }
        None => Err(unexpected_end(
            file,
            last,
            "the file is empty".into(),
            "begin with the number of flows",
        )),
    }
}
