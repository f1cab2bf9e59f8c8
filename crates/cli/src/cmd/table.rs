//! `lowtide table`: a Parquet table as text.

use lowtide_output::csv;
use lowtide_record::{RunDir, TextColumn};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::args::TableArgs;
use crate::cmd::explain::unknown;
use crate::cmd::split;
use crate::error::CommandError;
use crate::output::Output;

#[expect(clippy::struct_field_names, reason = "the names of the JSON envelope")]
#[derive(Serialize)]
struct Table {
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

/// A row of a table as text.
type TextRow = Vec<Option<String>>;

/// The columns and rows that are printed.
struct Selection {
    /// Indices of the columns.
    columns: Vec<usize>,
    /// Index of a column, and its value.
    conditions: Vec<(usize, String)>,
}

impl Selection {
    fn of(args: &TableArgs, columns: &[TextColumn]) -> Result<Self, CommandError> {
        let names: Vec<String> = columns.iter().map(|c| c.name.clone()).collect();
        let place = |name: &str| {
            let found = names.iter().position(|known| known == name);
            found.ok_or_else(|| unknown("column", name, &names))
        };
        let condition = |text: &String| {
            let (name, value) = split(text, "--where", "COLUMN=VALUE")?;
            Ok((place(name)?, value.to_owned()))
        };
        let chosen = args.columns.iter().map(|name| place(name.trim()));
        let mut chosen = chosen.collect::<Result<Vec<usize>, _>>()?;
        if chosen.is_empty() {
            chosen = (0..columns.len()).collect();
        }
        let conditions = args.conditions.iter().map(condition);
        Ok(Self { columns: chosen, conditions: conditions.collect::<Result<_, CommandError>>()? })
    }

    /// Returns the chosen cells of a row; `None` if a condition does not hold.
    fn apply(&self, row: &[Option<String>]) -> Option<TextRow> {
        let value = |place: usize| row.get(place)?.as_deref();
        let holds = |(place, wanted): &(usize, String)| value(*place).unwrap_or_default() == wanted;
        let all = self.conditions.iter().all(holds);
        // A column may be printed twice, so cells are not moved out.
        all.then(|| self.columns.iter().map(|i| row.get(*i).cloned().flatten()).collect())
    }
}

pub(crate) fn table(args: &TableArgs, out: Output) -> Result<(), CommandError> {
    let (dir, _) = RunDir::open(&args.dir)?;
    let name = args.table.as_str();
    let table = dir.text_table(name)?;
    let selection = Selection::of(args, table.columns())?;
    let columns: Vec<TextColumn> =
        selection.columns.iter().map(|i| table.columns()[*i].clone()).collect();
    let rows = table.filter_map(|row| row.map(|row| selection.apply(&row)).transpose());
    if args.csv {
        Output::raw(&csv::line(columns.iter().map(|c| c.name.as_str())))?;
        for row in rows {
            let row = row?;
            Output::raw(&csv::line(row.iter().map(|c| c.as_deref().unwrap_or_default())))?;
        }
        return Ok(());
    }
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    if out.json {
        let object = |row: TextRow| {
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
        let column = |c: &TextColumn| Column {
            name: c.name.clone(),
            unit: c.unit.clone(),
            description: c.description.clone(),
        };
        let body =
            Table { table: name.to_string(), columns: columns.iter().map(column).collect(), rows };
        return out.answer("lowtide.table/1", &body);
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
