//! A list of flows as comma-separated values, with a header.
//!
//! The columns `src`, `dst`, `bytes` and `start` may be in any order; others are ignored. Hosts are
//! numbers or the scenario's names. Sizes are in bytes or have a unit. Times are in seconds from
//! the start of the run or have a unit. Fields may be quoted. Blank lines and lines that begin with
//! `#` are skipped.

use super::{HostLookup, ListedFlow, push_flow, size, time, unexpected_end};
use crate::text_file::{FileError, FileLine, lines, quoted};

/// Required columns.
const COLUMNS: [&str; 4] = ["src", "dst", "bytes", "start"];

pub(crate) fn read(
    file: &str,
    text: &str,
    hosts: &HostLookup<'_>,
) -> Result<Vec<ListedFlow>, FileError> {
    let mut rows = Vec::new();
    let mut header: Option<[usize; 4]> = None;
    let mut last = 0;
    let mut fields = Vec::new();
    for line in lines(file, text) {
        last = line.number;
        if line.content().is_empty() {
            continue;
        }
        split(&line, &mut fields)?;
        let Some(columns) = header else {
            header = Some(columns(&line, &fields)?);
            continue;
        };
        let mut found = [""; 4];
        for (field, (column, name)) in found.iter_mut().zip(columns.into_iter().zip(COLUMNS)) {
            let Some(text) = fields.get(column) else {
                let message = format!("the line ends before its column `{name}`");
                return Err(
                    line.line_error(message, "give every line as many fields as the header has")
                );
            };
            *field = text;
        }
        let (src, dst) = hosts.endpoints(&line, found[0], found[1])?;
        let (size, start) = (size(&line, found[2])?, time(&line, found[3])?);
        push_flow(&mut rows, ListedFlow { src, dst, size, start }, &line)?;
    }
    match header {
        Some(_) if !rows.is_empty() => Ok(rows),
        Some(_) => Err(unexpected_end(
            file,
            last,
            "no flows below the header".into(),
            "write one per line",
        )),
        None => Err(unexpected_end(file, last, "the file is empty".into(), HEADER)),
    }
}

const HEADER: &str = "begin with a header: `src,dst,bytes,start`";

/// Returns the index of each column.
fn columns(line: &FileLine<'_>, fields: &[&str]) -> Result<[usize; 4], FileError> {
    let mut found = [0; 4];
    for (place, name) in found.iter_mut().zip(COLUMNS) {
        let mut all = fields.iter().enumerate().filter(|(_, f)| f.eq_ignore_ascii_case(name));
        let Some((index, _)) = all.next() else {
            let have: Vec<String> = fields.iter().take(12).map(|f| quoted(f)).collect();
            let message = format!("no column `{name}` in the header {}", have.join(", "));
            return Err(line.line_error(message, HEADER));
        };
        if let Some((_, again)) = all.next() {
            let message = format!("the column `{name}` appears twice");
            return Err(line.field_error(again, message, "rename one of them"));
        }
        *place = index;
    }
    Ok(found)
}

/// Splits a line into fields, without surrounding blanks and quotes.
fn split<'a>(line: &FileLine<'a>, fields: &mut Vec<&'a str>) -> Result<(), FileError> {
    fields.clear();
    let mut rest = line.text;
    loop {
        let field = rest.trim_start();
        if let Some(inner) = field.strip_prefix('"') {
            let after = inner.find('"').map(|end| (&inner[..end], inner[end + 1..].trim_start()));
            let closed = after.filter(|(_, after)| after.is_empty() || after.starts_with(','));
            let Some((inside, after)) = closed else {
                let help = "close it before the next comma, and put no quote inside";
                return Err(line.field_error(field, "a quote is not closed here", help));
            };
            fields.push(inside.trim());
            match after.strip_prefix(',') {
                Some(after) => rest = after,
                None => return Ok(()),
            }
        } else {
            let (field, after) = rest.split_once(',').map_or((rest, None), |(f, a)| (f, Some(a)));
            fields.push(field.trim());
            match after {
                Some(after) => rest = after,
                None => return Ok(()),
            }
        }
    }
}
