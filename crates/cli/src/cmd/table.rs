//! `lowtide table`: a Parquet table as text.

use std::path::Path;

use lowtide_charts::csv;
use lowtide_record::{RunDir, renamed_table};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::CommandError;
use crate::output::Output;

#[expect(clippy::struct_field_names, reason = "the names of the JSON envelope")]
#[derive(Serialize)]
struct Table {
    schema: &'static str,
    version: &'static str,
    table: String,
    columns: Vec<Column>,
    rows: Vec<Map<String, Value>>,
}

#[derive(Serialize)]
struct Column {
    name: String,
    unit: String,
    description: String,
}

pub(crate) fn table(dir: &Path, name: &str, as_csv: bool, out: Output) -> Result<(), CommandError> {
    let failed = |e: lowtide_record::RecordError| CommandError::Usage(e.to_string(), None);
    let (dir, _) = RunDir::open(dir).map_err(failed)?;
    let name = match renamed_table(name) {
        Some(new) => {
            out.note(&format!("the table `{name}` is now `{new}`"));
            new
        }
        None => name,
    };
    let table = dir.text_table(name).map_err(failed)?;
    let columns = table.columns().to_vec();
    if as_csv {
        Output::raw(&csv::line(columns.iter().map(|c| c.name.as_str())))?;
        for row in table {
            let row = row.map_err(failed)?;
            Output::raw(&csv::line(row.iter().map(|c| c.as_deref().unwrap_or_default())))?;
        }
        return Ok(());
    }
    let rows = table.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    if out.json {
        let object = |row: Vec<Option<String>>| {
            let cells = columns.iter().zip(row).map(|(column, cell)| {
                let value = match cell {
                    None => Value::Null,
                    Some(text) if column.numeric => {
                        serde_json::from_str(&text).unwrap_or(Value::String(text))
                    }
                    Some(text) => Value::String(text),
                };
                (column.name.clone(), value)
            });
            cells.collect()
        };
        let rows = rows.into_iter().map(object).collect();
        let column = |c: &lowtide_record::TextColumn| Column {
            name: c.name.clone(),
            unit: c.unit.clone(),
            description: c.description.clone(),
        };
        return out.json(&Table {
            schema: "lowtide.table/1",
            version: env!("CARGO_PKG_VERSION"),
            table: name.to_string(),
            columns: columns.iter().map(column).collect(),
            rows,
        });
    }
    let header: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
    let right: Vec<usize> =
        columns.iter().enumerate().filter(|(_, c)| c.numeric).map(|(i, _)| i).collect();
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|row| row.into_iter().map(|c| c.unwrap_or_else(|| "–".to_string())).collect())
        .collect();
    out.table(&header, &right, &rows)
}
