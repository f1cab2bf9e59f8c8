//! The code blocks of a page, and the commands in its `console` blocks.
//!
//! A `console` block is a transcript: lines that begin with `$ ` are commands, the others are lines
//! of their output, in order. `...` replaces lines that are left out.

use std::path::Path;
use std::process::Command;

/// A code block.
#[derive(Debug)]
pub(crate) struct Block {
    /// Line of its first fence, from one.
    pub(crate) line: usize,
    /// The word after the fence.
    pub(crate) info: String,
    pub(crate) text: String,
    /// The file that it shows: the paragraph before it ends with `` `name`: ``.
    pub(crate) file: Option<String>,
}

/// Returns the code blocks of a page, in order.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut out: Vec<Block> = Vec::new();
    let (mut inside, mut before) = (false, "");
    for (number, line) in page.lines().enumerate() {
        if let Some(info) = line.trim_start().strip_prefix("```") {
            inside = !inside;
            if inside {
                let name = before.strip_suffix("`:").and_then(|text| text.rsplit('`').next());
                let file = name.filter(|name| name.contains('.')).map(str::to_owned);
                let info = info.to_owned();
                out.push(Block { line: number + 1, info, text: String::new(), file });
            }
            before = "";
        } else if let Some(block) = out.last_mut().filter(|_| inside) {
            block.text += line;
            block.text.push('\n');
        } else if !line.trim().is_empty() {
            before = line;
        }
    }
    out
}

/// A command of a transcript, and the lines that the page shows of its output.
#[derive(Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) command: String,
    pub(crate) shown: Vec<String>,
}

/// Returns the commands in the `console` blocks of a page, in order.
pub(crate) fn transcript(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in blocks(page).into_iter().filter(|block| block.info == "console") {
        for line in block.text.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                steps.push(Step { command: command.to_owned(), shown: Vec::new() });
            } else if let Some(step) = steps.last_mut().filter(|_| line != "...") {
                step.shown.push(line.trim_end().to_owned());
            }
        }
    }
    steps
}

/// Runs `command` in `folder` by a shell that `prepare` completes, and compares its output with the
/// lines of `step`, in order.
pub(crate) fn run(
    page: &str,
    step: &Step,
    command: &str,
    folder: &Path,
    prepare: &dyn Fn(&mut Command),
) {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(folder);
    prepare(&mut shell);
    let output = shell.output().expect("sh");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{page}: `{}`: {errors}", step.command);
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines().map(str::trim_end);
    for line in &step.shown {
        assert!(
            lines.any(|real| real == line),
            "{page}: the output of `{}` lacks the line `{line}` there:\n{text}",
            step.command
        );
    }
}
