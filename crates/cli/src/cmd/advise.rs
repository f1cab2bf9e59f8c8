//! `lowtide advise`: K and alpha for a fabric.

use std::path::Path;

use lowtide_charts::FigureFiles;
use lowtide_lab::advice::fabric::{
    Candidate, Confidence, FabricAdvice, FabricRequest, LeafSpine, PACKET, SHORT_FLOWS, advise,
    knee,
};
use lowtide_record::write_atomic;
use lowtide_scenario::{HOPS_PER_SECOND, RunSpec, Scenario};
use lowtide_switch_config::{Configuration, Content, Placement};
use serde::Serialize;

use crate::args::AdviseArgs;
use crate::cmd::run::processors;
use crate::cmd::set;
use crate::cmd::switch_config::{as_json, configuration};
use crate::error::CommandError;
use crate::output::{JsonAnswer, Output};

const SCHEMA: &str = "lowtide.advise/1";

/// Name of the file with the advice, as `--json` prints it: `lowtide figure` reads it.
pub(crate) const ADVICE_FILE: &str = "advice.json";

#[derive(Serialize)]
struct AdviseOutput<'a> {
    scenario: &'a str,
    sentences: Vec<String>,
    #[serde(flatten)]
    advice: &'a FabricAdvice,
    switch: Option<serde_json::Value>,
}

pub(crate) fn command(args: &AdviseArgs, out: Output) -> Result<(), CommandError> {
    let scenario = set(scenario(args)?, &args.set)?;
    let jobs = args.jobs.map_or_else(processors, |n| n as usize);
    let hops = args.budget.saturating_mul(HOPS_PER_SECOND);
    let request = FabricRequest { scenario, hops, jobs };
    let advice = advise(&request, &|what| out.note(&format!("simulating {what}")))?;
    let advised = advice.apply(&request.scenario)?;
    let switch = switch(&advised, args);
    let sentences = sentences(&advice);
    let answer = AdviseOutput {
        scenario: request.scenario.name(),
        sentences,
        advice: &advice,
        switch: switch.as_ref().ok().map(as_json),
    };
    if let Some(dir) = &args.out {
        write(dir, &answer, &advised, switch.as_ref().ok())?;
    }
    if out.json {
        return out.answer(SCHEMA, &answer);
    }
    for sentence in &answer.sentences {
        out.paragraph(sentence)?;
    }
    out.text("")?;
    table(&advice, out)?;
    out.text(&format!("\n{} (docs/howto/switches.md):", args.switch))?;
    match switch {
        Ok(switch) => print_switch(&switch, out)?,
        Err(why) => out.paragraph(&format!("no configuration: {why}"))?,
    }
    if let Some(dir) = &args.out {
        out.text(&format!("knee figure, scenario and switch: {}", dir.display()))?;
    }
    Ok(())
}

fn scenario(args: &AdviseArgs) -> Result<Scenario, CommandError> {
    if let Some(name) = &args.scenario {
        return Ok(Scenario::load(name)?);
    }
    let fabric = LeafSpine {
        racks: args.racks,
        hosts_per_rack: args.hosts_per_rack,
        host_rate: args.hosts,
        up_rate: args.up,
        spines: args.spines,
        buffer: args.buffer.clone(),
        load: args.load,
        sizes: args.sizes.clone(),
        incast: args.incast,
        flows: args.flows,
    };
    Ok(fabric.scenario()?)
}

/// The configuration of a switch with the advised values, or why there are none.
fn switch(advised: &Scenario, args: &AdviseArgs) -> Result<Configuration, String> {
    let plan = advised.expand().map_err(|e| e.to_string())?;
    let resolved = plan.runs.first().map(RunSpec::resolved_toml).unwrap_or_default();
    let table: toml::Table = resolved.parse().unwrap_or_default();
    let switch = table.get("switch").and_then(toml::Value::as_table).cloned().unwrap_or_default();
    let place = Placement { queue_memory: args.queue_memory, ..Placement::default() };
    configuration(args.switch, &switch, PACKET, &place).map_err(|e| e.to_string())
}

/// Prints the configuration with its comments; of SONiC's tables only the two profiles, after the
/// notes.
fn print_switch(configuration: &Configuration, out: Output) -> Result<(), CommandError> {
    let Content::Json(tables) = &configuration.content else {
        return out.text(&configuration.file());
    };
    for note in &configuration.notes {
        out.paragraph(note)?;
    }
    for name in ["WRED_PROFILE", "BUFFER_PROFILE"] {
        if let Some(profile) = tables.get(name) {
            out.paragraph(&serde_json::json!({ name: profile }).to_string())?;
        }
    }
    Ok(())
}

/// The advice in words, the answer first.
fn sentences(advice: &FabricAdvice) -> Vec<String> {
    let chosen = advice.chosen();
    let rate =
        lowtide_units::Rate::from_bps(advice.line_bps).map_or_else(String::new, |r| r.to_string());
    let tail = |c: &Candidate| match (c.p99.value, c.p99.ci95) {
        (Some(value), Some([low, high])) => format!("{value:.1} ({low:.1} to {high:.1})"),
        (Some(value), None) => format!("{value:.1}"),
        (None, _) => c.p99.note.clone().unwrap_or_default(),
    };
    let decided = match advice.confidence {
        Confidence::Decided => "decided",
        Confidence::Undecided => "undecided",
    };
    let mut out = vec![format!(
        "Set K = {} packets ({} kB) at every port ({decided}): the 99th percentile of the slowdown \
         of flows up to {SHORT_FLOWS} is {}, and two long flows fill {:.1} % of a link of {rate}.",
        chosen.k_packets,
        kilobytes(chosen.k_bytes),
        tail(chosen),
        chosen.utilisation.unwrap_or_default() * 100.0,
    )];
    let others = |wanted: &dyn Fn(&Candidate) -> bool| -> Vec<String> {
        let of =
            advice.candidates.iter().enumerate().filter(|(i, c)| *i != advice.advised && wanted(c));
        of.map(|(_, c)| c.k_packets.to_string()).collect()
    };
    let best = advice.candidates.iter().filter_map(|c| c.utilisation).fold(0.0, f64::max);
    let idle = |c: &Candidate| c.utilisation.is_some_and(|u| u < best - 0.01);
    let longer = |c: &Candidate| c.ratio_ci95.is_some_and(|[low, _]| low > 1.0);
    // Of these the runs show only that none is better by more than 10 %.
    let open = match advice.confidence {
        Confidence::Decided => "may be as good",
        Confidence::Undecided => "may be better",
    };
    let groups: [(&str, Vec<String>); 4] = [
        ("is as good, within 10 %", others(&|c| c.as_good && !idle(c))),
        (open, others(&|c| !idle(c) && !c.as_good && !longer(c))),
        ("has a longer tail", others(&|c| longer(c) && !c.as_good && !idle(c))),
        ("leaves more than a point of the link idle", others(&idle)),
    ];
    let parts: Vec<String> = groups
        .iter()
        .filter(|(_, all)| !all.is_empty())
        .map(|(what, all)| format!("K = {} {what}", all.join(", ")))
        .collect();
    if !parts.is_empty() {
        out.push(format!("{}.", parts.join("; ")));
    }
    out.push(format!(
        "The analysis asks for more than {:.1} packets (C x RTT / 7, with a round trip of {:.1} us \
         without queues).",
        advice.k_above_packets, advice.rtt_us,
    ));
    out.push(match advice.burst_segments {
        0 | 1 => "The hosts of this scenario send segments one by one. Hosts with segmentation \
                  offload send bursts of up to 64 kB, which may need a larger K: repeat with \
                  -s transport.host-profile=linux."
            .to_owned(),
        n => format!("The hosts send bursts of up to {n} segments (segmentation offload)."),
    });
    if let Some(alpha) = advice.chosen_alpha() {
        out.push(format!(
            "alpha of the shared memory: {}, with a tail of {} and {:.1} drops per run.",
            alpha.alpha.as_deref().unwrap_or_default(),
            tail(alpha),
            alpha.drops,
        ));
    }
    let queries = chosen.queries_with_timeout.map_or_else(String::new, |share| {
        format!("{:.1} % of the queries (incast) have a retransmission timeout, ", share * 100.0)
    });
    out.push(format!(
        "Risks at this K: {queries}{:.1} timeouts and {:.1} drops per run; packets that are not \
         ECN-capable are dropped at a queue of K, as simulated.",
        chosen.timeouts, chosen.drops,
    ));
    if chosen.p999.value.is_none() {
        let why = chosen.p999.note.clone().unwrap_or_default();
        out.push(format!("The 99.9th percentile is not known: {why}."));
    }
    out
}

fn kilobytes(bytes: u64) -> String {
    let text = format!("{:.1}", bytes as f64 / 1e3);
    text.trim_end_matches(".0").to_owned()
}

fn table(advice: &FabricAdvice, out: Output) -> Result<(), CommandError> {
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.1}"));
    let row = |name: String, c: &Candidate| {
        let interval = |ends: Option<[f64; 2]>| {
            ends.map_or_else(String::new, |[low, high]| format!(" ({low:.2} to {high:.2})"))
        };
        vec![
            name,
            cell(c.utilisation.map(|u| u * 100.0)),
            cell(c.p99.value),
            c.ratio.map_or_else(|| "1".to_owned(), |r| format!("{r:.2}{}", interval(c.ratio_ci95))),
            c.query_p99_ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.2}")),
            format!("{:.1}", c.timeouts),
            format!("{:.1}", c.drops),
            c.flows.to_string(),
        ]
    };
    let mark = |name: String, advised: bool| if advised { format!("{name} *") } else { name };
    let rows: Vec<Vec<String>> = advice
        .candidates
        .iter()
        .enumerate()
        .map(|(i, c)| row(mark(c.k_packets.to_string(), i == advice.advised), c))
        .collect();
    let head = ["K", "link, %", "p99", "ratio (95 %)", "query p99, ms", "RTOs", "drops", "flows"];
    out.narrow_table(&head, &[0, 1, 2, 4, 5, 6, 7], &rows)?;
    let alphas: Vec<Vec<String>> = advice
        .alphas
        .iter()
        .enumerate()
        .map(|(i, c)| {
            let name = c.alpha.clone().unwrap_or_default();
            row(mark(name, advice.advised_alpha == Some(i)), c)
        })
        .collect();
    if alphas.is_empty() {
        return Ok(());
    }
    let head =
        ["alpha", "link, %", "p99", "ratio (95 %)", "query p99, ms", "RTOs", "drops", "flows"];
    out.narrow_table(&head, &[0, 1, 2, 4, 5, 6, 7], &alphas)
}

fn write(
    dir: &Path,
    answer: &AdviseOutput<'_>,
    advised: &Scenario,
    switch: Option<&Configuration>,
) -> Result<(), CommandError> {
    let figure =
        FigureFiles::of(&knee(answer.advice)).map_err(|e| CommandError::Run(e.to_string()))?;
    let json = serde_json::to_string_pretty(&JsonAnswer::new(SCHEMA, answer))
        .map_err(|e| CommandError::Run(format!("cannot write {ADVICE_FILE}: {e}")))?;
    let mut files = vec![
        ("knee.svg", figure.svg),
        ("knee.csv", figure.csv),
        ("advised.toml", advised.to_toml()?),
        (ADVICE_FILE, json + "\n"),
    ];
    if let Some(configuration) = switch {
        files.push((configuration.vendor.file_name(), configuration.file()));
    }
    for (name, text) in files {
        write_atomic(&dir.join(name), text.as_bytes())?;
    }
    Ok(())
}
