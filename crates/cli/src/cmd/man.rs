//! `lowtide man`: man pages of all commands.

use std::path::Path;

use clap::Command;
use clap_mangen::Man;
use lowtide_record::write_atomic;

use crate::args;
use crate::error::CommandError;
use crate::output::Output;

/// Writes `lowtide.1`, `lowtide-run.1` and so on.
pub(crate) fn man(dir: &Path, out: Output) -> Result<(), CommandError> {
    // For clap `help` is a command too, and its page would repeat all others.
    let mut command = args::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    render(&command, &mut pages)
        .map_err(|e| CommandError::Run(format!("cannot render a man page: {e}")))?;
    for (name, text) in &pages {
        write_atomic(&dir.join(name), text)?;
    }
    out.text(&format!("{} man pages in {}", pages.len(), dir.display()))
}

/// Renders the page of a command and of its visible subcommands.
fn render(command: &Command, into: &mut Vec<(String, Vec<u8>)>) -> std::io::Result<()> {
    let man = Man::new(command.clone());
    let mut text = Vec::new();
    man.render(&mut text)?;
    into.push((man.get_filename(), text));
    command.get_subcommands().filter(|c| !c.is_hide_set()).try_for_each(|sub| render(sub, into))
}
