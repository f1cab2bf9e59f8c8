//! Commands that print a text: a template, the schema, a completion script.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::cmd::explain::unknown;
use crate::error::CommandError;
use crate::output::Output;

/// `lowtide new KIND`.
pub(crate) fn new(kind: &str, out: Output) -> Result<(), CommandError> {
    if let Some(text) = lowtide_scenario::template(kind) {
        return out.text(text);
    }
    let known: Vec<String> =
        lowtide_scenario::TEMPLATES.iter().map(|t| t.name.to_string()).collect();
    Err(unknown("template", kind, &known))
}

/// `lowtide schema`.
pub(crate) fn schema(out: Output) -> Result<(), CommandError> {
    out.json(&lowtide_scenario::json_schema())
}

/// `lowtide completions SHELL`.
pub(crate) fn completions(shell: Shell, out: Output) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "lowtide", &mut script);
    out.text(&String::from_utf8_lossy(&script))
}
