//! `lowtide plan`: DCTCP's analysis of a link, and a simulation to check it.

use lowtide_sizing::{
    CheckedQuantity, SimulationCheck, Sizing, SizingInput, check_scenario, recommend, run_check,
};
use serde::Serialize;

use crate::args::PlanArgs;
use crate::cmd::run::processors;
use crate::cmd::set;
use crate::error::CommandError;
use crate::output::Output;

#[derive(Serialize)]
struct PlanOutput<'a> {
    rate_bps: u64,
    rtt_us: f64,
    flows: u32,
    mtu_bytes: u32,
    advice: &'a Sizing,
    check: Option<&'a SimulationCheck>,
}

pub(crate) fn plan(args: &PlanArgs, out: Output) -> Result<(), CommandError> {
    let input = SizingInput {
        rate: args.rate,
        rtt: args.rtt,
        flows: args.flows,
        mtu: args.mtu,
        burst_packets: args.burst_packets,
        k: args.k.map(u64::from),
        shift_g: args.g,
    };
    let sizing = recommend(&input)?;
    if !out.json {
        show(&input, &sizing, out)?;
    }
    let check = if args.no_check { None } else { Some(check(args, &input, &sizing)?) };
    if out.json {
        let body = PlanOutput {
            rate_bps: input.rate.as_bps(),
            rtt_us: input.rtt.as_ps() as f64 / 1e6,
            flows: input.flows,
            mtu_bytes: input.mtu,
            advice: &sizing,
            check: check.as_ref(),
        };
        return out.answer("lowtide.plan/2", &body);
    }
    check.map_or(Ok(()), |check| show_check(&check, out))
}

fn check(
    args: &PlanArgs,
    input: &SizingInput,
    sizing: &Sizing,
) -> Result<SimulationCheck, CommandError> {
    let mut scenario = set(check_scenario(input, sizing)?, &args.set)?;
    if let Some(seeds) = args.seeds {
        scenario = scenario.seeds(seeds)?;
    }
    let jobs = args.jobs.map_or_else(processors, |n| n as usize);
    Ok(run_check(input, sizing, &scenario.expand()?, jobs, args.memory.limits())?)
}

fn show(input: &SizingInput, sizing: &Sizing, out: Output) -> Result<(), CommandError> {
    let a = sizing;
    let line =
        |name: &str, value: String, source: &str| vec![name.to_owned(), value, source.to_owned()];
    let burst = if a.burst_packets > 0 {
        format!("eq. 13 and {} packets for bursts (§3.5)", a.burst_packets)
    } else {
        "eq. 13".to_owned()
    };
    let k_source = if input.k.is_some() { "given".to_owned() } else { burst };
    let g_source = if input.shift_g.is_some() { "given" } else { "eq. 15" };
    let mut rows = vec![
        line("C x RTT", format!("{:.1} packets", a.bdp_packets), "framing counted"),
        line(
            "K must be above",
            format!(
                "{:.1} packets, {:.1} kB",
                a.k_above_packets,
                a.k_above_packets * f64::from(input.mtu) / 1e3
            ),
            "eq. 13: for any number of flows",
        ),
        line(
            "  for this many flows",
            format!("{:.1} packets", a.k_above_for_flows_packets),
            "eq. 12",
        ),
        line("K", k_in_all_units(input, a), &k_source),
        line("g must be below", format!("{:.3}", a.g_below), "eq. 15"),
        line("g", format!("1/{}", 1_u32 << a.shift_g), g_source),
    ];
    if let Some(p) = &a.predicted {
        rows.extend([
            line(
                "window at the mark, W*",
                format!("{:.1} packets", p.critical_window_packets),
                "eq. 5",
            ),
            line("alpha", format!("{:.3}", p.alpha), "eq. 6"),
            line("queue, longest", format!("{:.0} packets", p.queue_max_packets), "eq. 10: K + N"),
            line("queue, shortest", format!("{:.1} packets", p.queue_min_packets), "eq. 12"),
            line("amplitude", format!("{:.1} packets", p.amplitude_packets), "eq. 8"),
            line(
                "period",
                format!("{:.1} round trips, {:.0} us", p.period_rtts, p.period_us),
                "eq. 9",
            ),
            line("utilisation", format!("{:.2} %", p.utilisation * 100.0), "from eq. 3 and 8"),
        ]);
    }
    rows.push(line(
        "buffer to reserve",
        format!("{} packets, {:.1} kB", a.buffer_packets, a.buffer_bytes as f64 / 1e3),
        "longest queue and a burst",
    ));
    out.table(&["", "analysis", "DCTCP"], &[1], &rows)?;
    notes(&a.notes, out)
}

/// K in packets, in bytes of this MTU, and as the time in which the line sends them.
fn k_in_all_units(input: &SizingInput, sizing: &Sizing) -> String {
    let bytes = sizing.k_packets * u64::from(input.mtu);
    let us = bytes as f64 * 8e6 / input.rate.as_bps() as f64;
    format!("{} packets, {:.1} kB, {us:.1} us", sizing.k_packets, bytes as f64 / 1e3)
}

fn show_check(check: &SimulationCheck, out: Output) -> Result<(), CommandError> {
    let cells = check.rows.iter().map(|row| {
        vec![
            name(row.quantity).to_owned(),
            number(row, row.predicted),
            measured(row),
            row.measured_as.to_owned(),
            if row.differs { "differs".to_owned() } else { String::new() },
        ]
    });
    let seeds =
        if check.seeds == 1 { "1 seed".to_owned() } else { format!("{} seeds", check.seeds) };
    out.text(&format!("\nSimulated, {seeds}, {:.0} ms each:", check.measured_ms))?;
    let head = ["", "analysis", "simulation", "measured as", ""];
    out.table(&head, &[1, 2], &cells.collect::<Vec<_>>())?;
    if check.drops > 0 {
        out.text(&format!("{} packets were dropped", check.drops))?;
    }
    notes(&check.remarks, out)
}

fn notes(notes: &[String], out: Output) -> Result<(), CommandError> {
    notes.iter().try_for_each(|note| out.text(&format!("- {note}")))
}

fn name(quantity: &str) -> &str {
    match quantity {
        "queue_max" => "queue, longest",
        "queue_min" => "queue, shortest",
        "queue_mean" => "queue, mean",
        other => other,
    }
}

fn number(row: &CheckedQuantity, value: Option<f64>) -> String {
    let Some(value) = value else { return "–".to_owned() };
    if row.unit.is_empty() {
        format!("{:.2} %", value * 100.0)
    } else {
        format!("{value:.1} {}", row.unit)
    }
}

fn measured(row: &CheckedQuantity) -> String {
    let text = number(row, row.measured);
    let Some([low, high]) = row.ci95 else { return text };
    let half = (high - low) / 2.0;
    if row.unit.is_empty() {
        format!("{text} ± {:.2}", half * 100.0)
    } else {
        format!("{text} ± {half:.1}")
    }
}
