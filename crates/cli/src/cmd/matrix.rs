//! `lowtide matrix`: mixed deployment, every pair alone and next to every neighbour, or a
//! roll-out.

use std::ops::Range;

use lowtide_deployment::rollout::{self, HostDraw, MovedSides, Rollout, RolloutOptions};
use lowtide_deployment::{
    self as matrix, BUILT_IN_THRESHOLDS, MatrixResult, PairMatrix, PairRow, PairVerdict, TextTable,
    Thresholds,
};
use lowtide_input_files::{SETTINGS, read_text};
use lowtide_lab::CompletedExperiment;
use lowtide_output::shell;
use lowtide_scenario::{RunPlan, Scenario};
use lowtide_stats::LEAST_SEEDS;

use crate::args::{DrawArg, MatrixArgs, MoveArg, PrintArg};
use crate::cmd::run::{PlanRunner, check_failed_flows};
use crate::cmd::set;
use crate::error::CommandError;
use crate::output::Output;

/// Columns of a terminal.
const WIDTH: usize = 80;

/// Name of the embedded setup.
const SETUP: &str = "matrix";

pub(crate) fn matrix(args: &MatrixArgs, out: Output) -> Result<(), CommandError> {
    if let Some(file) = args.print {
        return print(file);
    }
    let scenario = setup(args)?;
    let runner = PlanRunner {
        out: args.out.as_deref(),
        jobs: args.jobs,
        discard_existing: args.afresh,
        memory: args.memory,
        ..PlanRunner::default()
    };
    let finished = match &args.share {
        Some(names) => roll_out(args, names, scenario, &runner, out)?,
        None => pairs(args, scenario, &runner, out)?,
    };
    check_failed_flows(&finished)
}

/// The runs of the arguments.
pub(super) fn plan(args: &MatrixArgs) -> Result<RunPlan, CommandError> {
    let scenario = setup(args)?;
    Ok(match &args.share {
        Some(names) => rollout(args, names, scenario)?.plan()?,
        None => pair_matrix(args, scenario)?.plan()?,
    })
}

/// The setup with the changes of the arguments.
fn setup(args: &MatrixArgs) -> Result<Scenario, CommandError> {
    if let (Some(names), None) = (&args.share, &args.on) {
        let (on, names) = (args.scenario.as_deref().unwrap_or("leaf-spine"), names.join(","));
        let form = shell::command(["lowtide", "matrix", "--on", on, "--share", &names]);
        let message = format!("--share moves the hosts of a scenario, which --on names: `{form}`");
        return Err(CommandError::Usage(message, None));
    }
    let name = args.on.as_deref().or(args.scenario.as_deref()).unwrap_or(SETUP);
    let mut scenario = set(Scenario::load(name)?, &args.set)?;
    if let Some(seeds) = args.seeds {
        scenario = scenario.seeds(seeds)?;
    }
    Ok(scenario)
}

fn print(file: PrintArg) -> Result<(), CommandError> {
    let mut embedded = lowtide_scenario::embedded_scenarios().iter();
    Output::raw(match file {
        PrintArg::Setup => embedded.find(|e| e.name == SETUP).map_or("", |e| e.text),
        PrintArg::Thresholds => BUILT_IN_THRESHOLDS,
    })
}

fn thresholds(args: &MatrixArgs) -> Result<Thresholds, CommandError> {
    let Some(path) = &args.thresholds else { return Ok(Thresholds::built_in()?) };
    let file = path.display().to_string();
    let text = read_text(path, &SETTINGS).map_err(|e| {
        let help = "`lowtide matrix --print thresholds` prints a template".to_owned();
        CommandError::Usage(format!("cannot read `{file}`: {e}"), Some(help))
    })?;
    Ok(Thresholds::parse(&text, &file)?)
}

fn pairs(
    args: &MatrixArgs,
    scenario: Scenario,
    runner: &PlanRunner<'_>,
    out: Output,
) -> Result<CompletedExperiment, CommandError> {
    let experiment = pair_matrix(args, scenario)?;
    let plan = experiment.plan()?;
    let (finished, answer) =
        runner.run_plan(&plan, experiment.scenario.text(), out, &|options| {
            matrix::execute(&experiment, &plan, options)
        })?;
    if out.json {
        out.json(&answer)?;
    } else {
        show(&answer, out)?;
        foot(&answer.digest, &finished, out)?;
    }
    Ok(finished)
}

fn pair_matrix(args: &MatrixArgs, scenario: Scenario) -> Result<PairMatrix, CommandError> {
    let neighbours = args.neighbours.as_deref().map(|n| if n == ["none"] { &[] } else { n });
    let (senders, receivers) = (args.senders.as_deref(), args.receivers.as_deref());
    Ok(PairMatrix::new(scenario, senders, receivers, neighbours, thresholds(args)?)?)
}

fn two_schemes(names: &[String]) -> Result<[&str; 2], CommandError> {
    match names {
        [from, to] => Ok([from, to]),
        _ => Err(CommandError::Usage(
            format!("--share takes two schemes, not {}", names.len()),
            Some("for instance `--share sack,dctcp`".to_owned()),
        )),
    }
}

fn roll_out(
    args: &MatrixArgs,
    names: &[String],
    scenario: Scenario,
    runner: &PlanRunner<'_>,
    out: Output,
) -> Result<CompletedExperiment, CommandError> {
    let experiment = rollout(args, names, scenario)?;
    let plan = experiment.plan()?;
    let (finished, answer) =
        runner.run_plan(&plan, experiment.scenario().text(), out, &|options| {
            rollout::execute(&experiment, &plan, options)
        })?;
    if out.json {
        out.json(&answer)?;
    } else {
        out.paragraph(&answer.verdict)?;
        out.paragraph(&rollout::describe(&answer))?;
        show_tables(rollout::tables(&answer), out)?;
        foot(&answer.digest, &finished, out)?;
    }
    Ok(finished)
}

fn rollout(
    args: &MatrixArgs,
    names: &[String],
    scenario: Scenario,
) -> Result<Rollout, CommandError> {
    let options = RolloutOptions {
        schemes: two_schemes(names)?,
        moves: match args.moves {
            MoveArg::Both => MovedSides::Both,
            MoveArg::Senders => MovedSides::Senders,
            MoveArg::Receivers => MovedSides::Receivers,
        },
        draw: match args.draw {
            DrawArg::Random => HostDraw::Random,
            DrawArg::Rack => HostDraw::Rack,
        },
        points: &args.points,
        thresholds: thresholds(args)?.rollout,
        seeds: args.seeds,
    };
    Ok(Rollout::new(scenario, &options)?)
}

fn foot(digest: &str, finished: &CompletedExperiment, out: Output) -> Result<(), CommandError> {
    out.text(&format!("digest {digest}\nreport {}", finished.dir.join("report.html").display()))
}

/// Prints tables with their titles, and an empty line.
fn show_tables(tables: Vec<TextTable>, out: Output) -> Result<(), CommandError> {
    for TextTable { title, head, names, rows } in tables {
        let right: Vec<usize> = (names..head.len()).collect();
        let head: Vec<&str> = head.iter().map(String::as_str).collect();
        out.text(&format!("\n{title}"))?;
        out.table(&head, &right, &rows)?;
    }
    out.text("")
}

fn show(answer: &MatrixResult, out: Output) -> Result<(), CommandError> {
    out.text("Goodput of each pair alone, Mbit/s (rows send, columns receive)")?;
    grid(answer, &|p| p.pair.goodput_mbps, out)?;
    out.text("\nMedian queue at the bottleneck, packets")?;
    grid(answer, &|p| p.queue.p50_packets, out)?;
    if !answer.neighbours.is_empty() {
        out.text("\nThe pair's share of the goodput next to each neighbour, %; 50 is fair")?;
        neighbour_grid(answer, out)?;
    }
    out.text("")?;
    let findings: Vec<Vec<String>> =
        matrix::findings(&answer.pairs).into_iter().map(Vec::from).collect();
    out.narrow_table(&["verdict", "mechanism", "cells", "which"], &[2], &findings)?;
    match answer.seeds {
        1 => out.paragraph("\nOne seed has no intervals; --seeds 5 gives them.\n"),
        n => {
            let intervals = if n < LEAST_SEEDS {
                "ranges of the seeds; --seeds 5 gives intervals"
            } else {
                "95 % intervals over seeds"
            };
            out.paragraph(&format!(
                "\nMeans over {n} seeds; the verdicts are those of all seeds together. The page and \
                 --json have the {intervals}.\n"
            ))
        }
    }?;
    out.text("")
}

/// Bar character for a value relative to the maximum `most`.
fn bar(value: f64, most: f64) -> char {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let share = if most > 0.0 { value / most } else { 0.0 };
    BARS[((share * 7.0).round().clamp(0.0, 7.0)) as usize]
}

/// Verdict of a cell; empty if healthy.
fn word(row: &PairRow) -> String {
    match row.verdict {
        PairVerdict::Healthy => String::new(),
        other => format!(" {}", other.short()),
    }
}

/// Prints a grid as tables of at most [`WIDTH`] columns, each with the names of the rows.
fn blocks(heads: &[String], rows: &[Vec<String>], out: Output) -> Result<(), CommandError> {
    let width = |i: usize| {
        let head = i.checked_sub(1).and_then(|i| heads.get(i));
        let cells = rows.iter().filter_map(|row| row.get(i)).chain(head);
        cells.map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..=heads.len()).map(width).collect();
    for (i, columns) in fitting_blocks(&widths).into_iter().enumerate() {
        if i > 0 {
            out.text("")?;
        }
        let names = heads[columns.start - 1..columns.end - 1].iter().map(String::as_str);
        let head: Vec<&str> = std::iter::once("").chain(names).collect();
        let part = |row: &Vec<String>| [&row[..1], &row[columns.clone()]].concat();
        out.table(&head, &[], &rows.iter().map(part).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Divides columns of these widths into blocks that fit [`WIDTH`] together with the first column.
fn fitting_blocks(widths: &[usize]) -> Vec<Range<usize>> {
    // Between columns are three characters, the outer edges have one each.
    let between = 3;
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut used = WIDTH;
    for (i, width) in widths.iter().enumerate().skip(1) {
        let needed = width + between;
        match blocks.last_mut() {
            Some(block) if used + needed <= WIDTH => (block.end, used) = (i + 1, used + needed),
            _ => {
                blocks.push(i..i + 1);
                used = widths[0] + 2 + needed;
            }
        }
    }
    blocks
}

/// Pairs alone: one row per sender, one column per receiver.
fn grid(
    answer: &MatrixResult,
    read: &dyn Fn(&PairRow) -> Option<f64>,
    out: Output,
) -> Result<(), CommandError> {
    let alone = || answer.pairs.iter().filter(|p| p.neighbour.is_none());
    let most = alone().filter_map(read).fold(0.0, f64::max);
    let cell = |sender: &str, receiver: &str| {
        let row = answer.pair(sender, receiver, None)?;
        let value = read(row)?;
        Some(format!("{} {value:.0}{}", bar(value, most), word(row)))
    };
    let rows: Vec<Vec<String>> = answer
        .senders
        .iter()
        .map(|sender| {
            let cells = answer
                .receivers
                .iter()
                .map(|receiver| cell(sender, receiver).unwrap_or_else(|| "–".to_owned()));
            std::iter::once(sender.clone()).chain(cells).collect()
        })
        .collect();
    blocks(&answer.receivers, &rows, out)
}

/// Pairs next to neighbours: one row per pair, one column per neighbour.
fn neighbour_grid(answer: &MatrixResult, out: Output) -> Result<(), CommandError> {
    let cell = |sender: &str, receiver: &str, neighbour: &str| {
        let row = answer.pair(sender, receiver, Some(neighbour))?;
        let share = row.pair.goodput_share?;
        Some(format!("{} {:.0}{}", bar(share, 1.0), share * 100.0, word(row)))
    };
    let mut rows = Vec::new();
    for sender in &answer.senders {
        for receiver in &answer.receivers {
            let cells = answer.neighbours.iter().map(|neighbour| {
                cell(sender, receiver, neighbour).unwrap_or_else(|| "–".to_owned())
            });
            rows.push(std::iter::once(format!("{sender} > {receiver}")).chain(cells).collect());
        }
    }
    blocks(&answer.neighbours, &rows, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_divided_into_blocks_of_80_columns() {
        // 2 + 20 + 3 * (15 + 3) are 76, with a fourth column 94.
        let ends = |widths: &[usize]| {
            fitting_blocks(widths).into_iter().map(|block| block.end).collect::<Vec<_>>()
        };
        assert_eq!(ends(&[20, 15, 15, 15, 15, 15]), [4, 6]);
        assert_eq!(ends(&[20, 16, 16, 17]), [4], "80");
        assert_eq!(ends(&[20, 16, 17, 17]), [3, 4], "81");
        assert_eq!(ends(&[20, 90]), [2], "one at least");
        assert!(ends(&[20]).is_empty());
    }
}
