//! Arguments of `table`.

use std::path::PathBuf;

use clap::Args;

pub(super) const EXAMPLES: &str = "\
On a terminal, columns that do not fit are left out, with a hint; --csv, --json and pipes have all.

Examples:
  lowtide table out flows --columns flow,group,fct_ps,status --where scheme=dctcp
  lowtide table out queues --where scheme=dctcp --where seed=1 --csv";

#[derive(Debug, Args)]
pub(crate) struct TableArgs {
    /// Run directory
    pub(crate) dir: PathBuf,
    /// Table, for instance flows; `lowtide list tables` names all
    pub(crate) table: String,
    /// Columns to print, in this order; default: all
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    /// Print only rows with this value, as the table prints it; all that are given must hold
    #[arg(long = "where", value_name = "COLUMN=VALUE")]
    pub(crate) conditions: Vec<String>,
    /// Print CSV instead of aligned columns
    #[arg(long)]
    pub(crate) csv: bool,
}
