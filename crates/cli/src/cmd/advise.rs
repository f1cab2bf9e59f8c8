//! `lowtide advise`: K of each class of ports, and alpha, for a fabric.

mod sentences;

use std::path::Path;

use lowtide_charts::FigureFiles;
use lowtide_record::write_atomic;
use lowtide_scenario::{HOPS_PER_SECOND, Scenario};
use lowtide_sizing::fabric::{
    Candidate, ClassAdvice, FabricAdvice, FabricRequest, LeafSpine, advise, class_names, knee,
};
use lowtide_switch_config::{Configuration, Content, Placement};
use lowtide_units::Bytes;
use serde::Serialize;

use crate::args::AdviseArgs;
use crate::cmd::run::processors;
use crate::cmd::set;
use crate::cmd::switch_config::{as_json, configuration, only_switch};
use crate::error::CommandError;
use crate::output::{JsonAnswer, Output};
use sentences::{kilobytes, sentences};

const SCHEMA: &str = "lowtide.advise/3";

/// Name of the file with the advice, as `--json` prints it: `lowtide figure` reads it.
pub(crate) const ADVICE_FILE: &str = "advice.json";

#[derive(Serialize)]
struct AdviseOutput<'a> {
    scenario: &'a str,
    sentences: Vec<String>,
    #[serde(flatten)]
    advice: &'a FabricAdvice,
    switches: &'a [ClassSwitch],
}

/// The configuration of the ports of one class.
#[derive(Serialize)]
struct ClassSwitch {
    /// Empty if all ports have one K.
    class: String,
    #[serde(flatten)]
    json: serde_json::Value,
    #[serde(skip)]
    configuration: Configuration,
}

impl ClassSwitch {
    /// Its file: `sonic.json`, or `sonic-leaf-spine.json`.
    fn file_name(&self) -> String {
        let name = self.configuration.vendor.file_name();
        match name.rsplit_once('.') {
            Some((stem, end)) if !self.class.is_empty() => format!("{stem}-{}.{end}", self.class),
            _ => name.to_owned(),
        }
    }
}

pub(crate) fn command(args: &AdviseArgs, out: Output) -> Result<(), CommandError> {
    let scenario = set(scenario(args)?, &args.set)?;
    check_ports(args, &scenario)?;
    let jobs = args.jobs.map_or_else(processors, |n| n as usize);
    let hops = args.budget.saturating_mul(HOPS_PER_SECOND);
    let request = FabricRequest { scenario, goal: args.goal, tenants: args.tenants, hops, jobs };
    let advice = advise(&request, &|what| out.note(&format!("simulating {what}")))?;
    let advised = advice.apply(&request.scenario)?;
    let (switches, refused) = match switches(&advice, &advised, args) {
        Ok(switches) => (switches, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let answer = AdviseOutput {
        scenario: request.scenario.name(),
        sentences: sentences(&advice),
        advice: &advice,
        switches: &switches,
    };
    if let Some(dir) = &args.out {
        write(dir, &answer, &advised)?;
    }
    if out.json {
        return out.answer(SCHEMA, &answer);
    }
    for sentence in &answer.sentences {
        out.paragraph(sentence)?;
    }
    tables(&advice, out)?;
    out.text(&format!("\n{} (docs/howto/switches.md):", args.switch))?;
    for switch in &switches {
        print_switch(switch, out)?;
    }
    if let Some(why) = refused {
        out.paragraph(&format!("no configuration: {why}"))?;
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
        mtu: args.mtu,
    };
    Ok(fabric.scenario()?)
}

/// Checks that `--ports` names classes of the fabric.
fn check_ports(args: &AdviseArgs, scenario: &Scenario) -> Result<(), CommandError> {
    if args.ports.is_empty() {
        return Ok(());
    }
    let known = class_names(scenario)?;
    let is_class = |text: &&String| {
        text.split_once('=').is_some_and(|(class, _)| known.iter().any(|name| name == class))
    };
    match args.ports.iter().find(|text| !is_class(text)) {
        None => Ok(()),
        Some(text) => Err(CommandError::Usage(
            format!("`--ports {text}` names no class of ports of this fabric"),
            Some(format!("write CLASS=PORT,PORT,... with a class of {}", known.join(", "))),
        )),
    }
}

/// The configuration of a switch for each class whose ports are named, or why there is none. If all
/// classes have one K, there is one for all named ports, or for an example.
fn switches(
    advice: &FabricAdvice,
    advised: &Scenario,
    args: &AdviseArgs,
) -> Result<Vec<ClassSwitch>, String> {
    let plan = advised.expand().map_err(|e| e.to_string())?;
    let known: Vec<&str> = advice.classes.iter().map(|class| class.name.as_str()).collect();
    let ports = |ports: &str| ports.split(',').map(|port| port.trim().to_owned()).collect();
    let named = args.ports.iter().filter_map(|text| text.split_once('='));
    let mut wanted: Vec<(&str, Vec<String>)> =
        named.map(|(class, names)| (class, ports(names))).collect();
    if advice.is_one_k() {
        let all = wanted.drain(..).flat_map(|(_, ports)| ports).collect();
        wanted.push(("all", all));
    }
    if wanted.is_empty() {
        let (example, class) = (args.switch.example_port(), known.first().unwrap_or(&"leaf-host"));
        return Err(format!(
            "K differs by class of ports. Name the ports of each class, as --ports \
             {class}={example}, or export advised.toml later with --pipe {class} --ports {example}"
        ));
    }
    let of = |(class, ports): (&str, Vec<String>)| {
        let class = if class == "all" { "" } else { class };
        let pipe = Some(class).filter(|class| !class.is_empty());
        let switch = only_switch(&plan, pipe).map_err(|_| format!("no pipe `{class}`"))?;
        let place = Placement {
            ports,
            queue_memory: args.queue_memory,
            class: class.to_owned(),
            ..Placement::default()
        };
        let found = advice.classes.iter().find(|known| known.name == class);
        let mtu = found
            .or(advice.classes.iter().max_by_key(|c| c.mtu_bytes))
            .map_or(1500, |class| class.mtu_bytes);
        let made = configuration(args.switch, &switch, Bytes::new(mtu), &place);
        let configuration = made.map_err(|e| e.to_string())?;
        Ok(ClassSwitch { class: class.to_owned(), json: as_json(&configuration), configuration })
    };
    wanted.into_iter().map(of).collect()
}

/// Prints the configuration with its comments; of SONiC's tables only the two profiles, after the
/// notes.
fn print_switch(switch: &ClassSwitch, out: Output) -> Result<(), CommandError> {
    if !switch.class.is_empty() {
        out.text(&format!("{}:", switch.class))?;
    }
    let Content::Json(tables) = &switch.configuration.content else {
        return out.text(&switch.configuration.file());
    };
    for note in &switch.configuration.notes {
        out.paragraph(note)?;
    }
    for name in ["WRED_PROFILE", "BUFFER_PROFILE"] {
        if let Some(profile) = tables.get(name) {
            out.paragraph(&serde_json::json!({ name: profile }).to_string())?;
        }
    }
    Ok(())
}

/// Prints the classes, what was computed for them, their candidates, and the growth of the load.
fn tables(advice: &FabricAdvice, out: Output) -> Result<(), CommandError> {
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.1}"));
    out.text("")?;
    let class = |c: &ClassAdvice| {
        let bracket = match c.bracket_bytes {
            Some((Some(below), least)) => {
                format!("{} to {}", kilobytes(below), kilobytes(least))
            }
            Some((None, least)) => format!("at most {}", kilobytes(least)),
            None => "untested".to_owned(),
        };
        let loss = match (c.bracket_loss, c.bracket_loss_ci95) {
            (Some(loss), Some([low, high])) => format!("{loss:.1} ({low:.1} to {high:.1})"),
            (loss, _) => cell(loss),
        };
        vec![
            c.name.clone(),
            format!("{}", c.line_bps as f64 / 1e9),
            kilobytes(c.k_bytes),
            format!("{:.1}", c.k_packets),
            format!("{:.1}", c.k_us),
            bracket,
            loss,
        ]
    };
    let head = ["class", "Gbit/s", "K, kB", "packets", "us", "bracket, kB", "its loss, points"];
    let rows: Vec<Vec<String>> = advice.classes.iter().map(class).collect();
    out.narrow_table(&head, &[1, 2, 3, 4], &rows)?;
    let beside = |c: &ClassAdvice| {
        let [lines, hosts] = c.analysis_bytes;
        vec![
            c.name.clone(),
            c.ports.to_string(),
            format!("{:.1} + {:.1}", c.rtt_us, c.hosts_us),
            format!("{:.1} to {:.1}", lines / 1e3, hosts / 1e3),
            match c.senders {
                0 => "-".to_owned(),
                n => format!("{} ({n})", kilobytes(c.burst_floor_bytes)),
            },
            c.ports_until_drops.map_or_else(|| "none".to_owned(), |n| n.to_string()),
        ]
    };
    let head = [
        "class",
        "ports",
        "RTT: lines + hosts, us",
        "C x RTT / 7, kB",
        "bursts, kB (senders)",
        "drops first at, ports",
    ];
    let rows: Vec<Vec<String>> = advice.classes.iter().map(beside).collect();
    out.narrow_table(&head, &[1, 5], &rows)?;
    let unit = if advice.unit.is_empty() { String::new() } else { format!(", {}", advice.unit) };
    let row = |name: String, c: &Candidate| {
        let interval = |ends: Option<[f64; 2]>| {
            ends.map_or_else(String::new, |[low, high]| format!(" ({low:.2} to {high:.2})"))
        };
        let ks: Vec<String> = c.k_bytes.iter().map(|k| kilobytes(*k)).collect();
        vec![
            name,
            ks.join(" "),
            c.value.value_text(),
            c.ratio.map_or_else(|| "1".to_owned(), |r| format!("{r:.2}{}", interval(c.ratio_ci95))),
            cell(c.p99),
            format!("{:.1}", c.timeouts),
            format!("{:.1}", c.drops),
        ]
    };
    let mark = |name: String, advised: bool| if advised { format!("{name} *") } else { name };
    let rows = |all: &[Candidate], advised: Option<usize>| -> Vec<Vec<String>> {
        let rows = all.iter().enumerate();
        rows.map(|(i, c)| row(mark(c.name.clone(), advised == Some(i)), c)).collect()
    };
    let measure = format!("measure{unit}");
    let head = ["table", "K, kB", &measure, "ratio (95 %)", "short p99", "RTOs", "drops"];
    if advice.measure.is_some() {
        let rows = rows(&advice.candidates, Some(advice.advised));
        out.narrow_table(&head, &[2, 4, 5, 6], &rows)?;
    }
    if !advice.alphas.is_empty() {
        let head = ["alpha", head[1], head[2], head[3], head[4], head[5], head[6]];
        out.narrow_table(&head, &[2, 4, 5, 6], &rows(&advice.alphas, advice.advised_alpha))?;
    }
    if advice.growth.is_empty() {
        return Ok(());
    }
    let rows: Vec<Vec<String>> = advice
        .growth
        .iter()
        .map(|step| {
            vec![
                format!("{} {}", step.what, step.value),
                cell(step.p99),
                cell(step.queries_with_timeout.map(|share| share * 100.0)),
                format!("{:.0}", step.timeouts),
                format!("{:.0}", step.drops),
            ]
        })
        .collect();
    out.narrow_table(
        &["one run", "short p99", "late queries, %", "RTOs", "drops"],
        &[1, 2, 3, 4],
        &rows,
    )
}

fn write(dir: &Path, answer: &AdviseOutput<'_>, advised: &Scenario) -> Result<(), CommandError> {
    let figure =
        FigureFiles::of(&knee(answer.advice)).map_err(|e| CommandError::Run(e.to_string()))?;
    let json = serde_json::to_string_pretty(&JsonAnswer::new(SCHEMA, answer))
        .map_err(|e| CommandError::Run(format!("cannot write {ADVICE_FILE}: {e}")))?;
    let mut files = vec![
        ("knee.svg".to_owned(), figure.svg),
        ("knee.csv".to_owned(), figure.csv),
        ("advised.toml".to_owned(), advised.to_toml()?),
        (ADVICE_FILE.to_owned(), json + "\n"),
    ];
    files.extend(answer.switches.iter().map(|s| (s.file_name(), s.configuration.file())));
    for (name, text) in files {
        write_atomic(&dir.join(name), text.as_bytes())?;
    }
    Ok(())
}
