//! Reads a distribution with two columns `value probability`, or with the three of ns-2.
//!
//! Blank lines and lines that begin with `#` are ignored, except `# unit: 1460 B` before the first
//! point: values are then multiples of that size (or time) instead of bytes (or seconds). The last
//! row must reach 1 or 100: all probabilities are fractions or percentages accordingly. The middle
//! one of three columns (the row number in ns-2's files) must be a number and is ignored.

use lowtide_schema::DistributionOf;
use lowtide_units::{Bytes, Duration, parse_bytes, parse_duration};

use super::{Cdf, PROBABILITY_ONE, Point};
use crate::text_file::{FileError, FileLine, lines, quoted, scaled};

/// Most rows in a file.
const MAX_ROWS: usize = 100_000;

/// One percent. Probabilities are read as percentages; fractions are multiplied by 100 afterwards.
const PERCENT: u64 = PROBABILITY_ONE / 100;

/// A row as written.
struct Row<'a> {
    line: FileLine<'a>,
    value: u64,
    /// Probability in units of [`PERCENT`], even if the file has fractions.
    cumulative: u64,
    /// Text of the probability.
    field: &'a str,
}

impl Cdf {
    /// Parses a file. Values are bytes or seconds unless the file has `# unit:`.
    ///
    /// # Errors
    /// Returns the first error, with line and column: a field that is not a number or is negative,
    /// a value or probability that decreases, a last probability other than 1 or 100 %, or no rows.
    pub fn parse(name: &str, kind: DistributionOf, text: &str) -> Result<Self, FileError> {
        let mut unit = match kind {
            DistributionOf::Size => 1,
            DistributionOf::Time => 1_000_000_000_000,
        };
        let mut rows: Vec<Row<'_>> = Vec::new();
        for line in lines(name, text) {
            if let Some(text) = line.text.trim().strip_prefix("# unit:") {
                if !rows.is_empty() {
                    return Err(line.line_error("the unit comes after the first row", "move it up"));
                }
                unit = read_unit(&line, text.trim(), kind)?;
            }
            if line.content().is_empty() {
                continue;
            }
            let row = read_row(line, unit)?;
            if let Some(last) = rows.last() {
                not_falling(last, &row)?;
            }
            if rows.len() == MAX_ROWS {
                let message = format!("more than {MAX_ROWS} rows");
                return Err(line.line_error(
                    message,
                    "remove rows: values between two points are interpolated",
                ));
            }
            rows.push(row);
        }
        let Some(last) = rows.last() else {
            let help = "write rows of a value and the probability of this value and all below";
            let line = FileLine { file: name, number: 1, text };
            return Err(line.line_error("a distribution without a row", help));
        };
        let times = match last.cumulative {
            PROBABILITY_ONE => 1,
            PERCENT => 100,
            _ => {
                let message = format!("the last probability is {}", quoted(last.field));
                return Err(last.line.field_error(
                    last.field,
                    message,
                    "it must reach 1, or 100 in percent",
                ));
            }
        };
        let points =
            rows.iter().map(|row| Point { value: row.value, cumulative: row.cumulative * times });
        Ok(Self { name: name.to_owned(), kind, points: points.collect() })
    }
}

fn read_unit(line: &FileLine<'_>, text: &str, kind: DistributionOf) -> Result<u64, FileError> {
    let (read, example) = match kind {
        DistributionOf::Size => (parse_bytes(text).map(Bytes::as_u64), "1460 B"),
        DistributionOf::Time => (parse_duration(text).map(Duration::as_ps), "1 ms"),
    };
    match read {
        Ok(unit) if unit > 0 => Ok(unit),
        _ => {
            let message = format!("{} is not a unit of this distribution", quoted(text));
            Err(line.field_error(text, message, format!("write `# unit: {example}`")))
        }
    }
}

fn read_row(line: FileLine<'_>, unit: u64) -> Result<Row<'_>, FileError> {
    let mut fields = line.content().split([' ', '\t', ',']).filter(|f| !f.is_empty());
    let (first, second, third) = (fields.next(), fields.next(), fields.next());
    if let (Some(_), Some(extra)) = (third, fields.next()) {
        return Err(line.field_error(extra, "a fourth column", "write `value probability`"));
    }
    let (Some(value), Some(upto)) = (first, third.or(second)) else {
        return Err(line.line_error("only one column", "write `value probability`"));
    };
    if let (Some(middle), Some(_)) = (second, third) {
        number(&line, middle, 1)?;
    }
    let row = Row {
        line,
        value: number(&line, value, unit)?,
        cumulative: number(&line, upto, PERCENT)?,
        field: upto,
    };
    Ok(row)
}

fn number(line: &FileLine<'_>, field: &str, scale: u64) -> Result<u64, FileError> {
    scaled(field, scale).ok_or_else(|| {
        let negative = field.strip_prefix('-').and_then(|rest| scaled(rest, scale)).is_some();
        let message = if negative {
            format!("{} is negative", quoted(field))
        } else {
            format!("{} is not a number, or too large", quoted(field))
        };
        line.field_error(field, message, "write a non-negative number, as 10000 or 0.15")
    })
}

fn not_falling(last: &Row<'_>, row: &Row<'_>) -> Result<(), FileError> {
    if row.value < last.value {
        let message = format!("this value is less than that of line {}", last.line.number);
        return Err(row.line.line_error(message, "sort the rows by value"));
    }
    if row.cumulative < last.cumulative {
        let message =
            format!("the probability falls from {} to {}", quoted(last.field), quoted(row.field));
        let help = "give the probability of this value and all below, not of it alone";
        return Err(row.line.field_error(row.field, message, help));
    }
    Ok(())
}
