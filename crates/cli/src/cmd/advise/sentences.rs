//! The advice in words, the answer first.
//!
//! Contract: a sentence says what ran, with the numbers that decided it, and no more.

use lowtide_sizing::fabric::{
    Candidate, ClassAdvice, Confidence, FabricAdvice, GrowthStep, HostBurst, TenantRun, TenantTail,
};

/// A ratio up to this is as good.
const AS_GOOD: f64 = 1.1;

pub(super) fn sentences(advice: &FabricAdvice) -> Vec<String> {
    let mut out = vec![answer(advice)];
    out.extend(candidates(advice));
    out.extend(shortened(&advice.candidates, "tables of K"));
    out.extend(one_k(advice));
    out.push(together(advice));
    let untested: Vec<&str> =
        advice.classes.iter().filter(|c| !c.tested).map(|c| c.name.as_str()).collect();
    if !untested.is_empty() {
        out.push(format!(
            "Untested: {}. No long flows of this traffic fill these ports before others; their K is \
             that of a tested class with the same rate, else C x RTT / 7 with the hosts' delay and \
             one burst.",
            untested.join(", ")
        ));
    }
    out.push(hosts(advice));
    if advice.alphas.is_empty() && advice.overflow_drops == 0 && advice.measure.is_some() {
        out.push(
            "No buffer was full in these runs, so alpha and the memory decided nothing.".to_owned(),
        );
    }
    if let Some(alpha) = advice.chosen_alpha() {
        out.push(format!(
            "alpha of the shared memory: {}, with {} and {:.1} drops per run.",
            alpha.alpha.as_deref().unwrap_or_default(),
            value(alpha, advice),
            alpha.drops,
        ));
        out.extend(shortened(&advice.alphas, "values of alpha"));
    }
    out.extend(growth(&advice.growth));
    out.extend(tenants(advice));
    let chosen = advice.chosen();
    let queries = chosen.queries_with_timeout.map_or_else(String::new, |share| {
        format!("{:.1} % of the queries (incast) have a retransmission timeout, ", share * 100.0)
    });
    if advice.measure.is_some() {
        out.push(format!(
            "Risks at this K: {queries}{:.1} timeouts and {:.1} drops per run; packets that are not \
             ECN-capable are dropped at a queue of K, as simulated.",
            chosen.timeouts, chosen.drops,
        ));
    }
    out.push(
        "The table is for TCP queues with ECN, alone on their lines; not for lossless (RoCE) queues. \
         A queue with a share of the line is a line of that rate: describe it by the rate."
            .to_owned(),
    );
    out
}

fn answer(advice: &FabricAdvice) -> String {
    let one = |c: &ClassAdvice| format!("{} {} kB", c.name, kilobytes(c.k_bytes));
    let ks: Vec<String> = advice.classes.iter().map(one).collect();
    let set = match advice.classes.first() {
        Some(class) if advice.is_one_k() => {
            let names: Vec<&str> = advice.classes.iter().map(|c| c.name.as_str()).collect();
            format!("Set K = {} kB at the ports {}", kilobytes(class.k_bytes), names.join(", "))
        }
        _ => format!("Set K by class of ports: {}", ks.join(", ")),
    };
    match &advice.measure {
        Some(measure) => {
            format!("{set}. The {measure} is {}.", value(advice.chosen(), advice))
        }
        None => format!("{set}. Utilisation alone decided."),
    }
}

/// The measure of a candidate with its unit and interval.
fn value(candidate: &Candidate, advice: &FabricAdvice) -> String {
    let unit = if advice.unit.is_empty() { String::new() } else { format!(" {}", advice.unit) };
    format!("{}{unit}", candidate.value.text())
}

/// The other tables of K.
fn candidates(advice: &FabricAdvice) -> Option<String> {
    advice.measure.as_ref()?;
    let others = || {
        let all = advice.candidates.iter().enumerate();
        all.filter(|(i, _)| *i != advice.advised).map(|(_, c)| c)
    };
    let names = |wanted: &dyn Fn(&&Candidate) -> bool| -> Vec<String> {
        others().filter(wanted).map(|c| format!("`{}`", c.name)).collect()
    };
    let open = |c: &&Candidate| c.ratio_ci95.is_none_or(|[low, _]| low <= 1.0 / AS_GOOD);
    let seeds = advice.chosen().seeds;
    Some(match advice.confidence {
        Confidence::Decided => format!(
            "Of the {} other tables that ran, none is better by more than 10 % (95 % intervals, up to \
             {seeds} seeds): decided among these.",
            others().count()
        ),
        Confidence::Undecided => format!(
            "Undecided: {} may be better by more than 10 % (95 % intervals, {seeds} seeds); give more \
             --budget.",
            names(&open).join(", ")
        ),
    })
}

/// The share of the traffic that ran.
fn shortened(candidates: &[Candidate], what: &str) -> Option<String> {
    let share = candidates.first().filter(|c| c.seeds > 0)?.traffic_share;
    (share < 1.0).then(|| {
        format!(
            "The {what} ran with {:.1} % of the scenario's flows, queries, iterations and time after \
             the warm-up (5 % at least, also above the budget); all of it needs {} {:.1} times this \
             --budget.",
            share * 100.0,
            if share > 0.05 { "at most" } else { "at least" },
            1.0 / share
        )
    })
}

/// The cost of a single K.
fn one_k(advice: &FabricAdvice) -> Option<String> {
    let one = advice.candidates.get(advice.one_k?)?;
    let k = kilobytes(*one.k_bytes.first()?);
    let Some((ratio, [low, high])) = one.ratio.zip(one.ratio_ci95) else {
        return advice.measure.is_none().then(|| {
            format!("One K for all ports would be {k} kB; its cost in delay was not run.")
        });
    };
    let cost = format!("the measure is {ratio:.2} ({low:.2} to {high:.2}) times as large");
    Some(if high <= AS_GOOD {
        format!(
            "One K for all ports, {k} kB, is no less than the K at which each tested class alone fills \
             its lines, and may replace the table: {cost}."
        )
    } else {
        format!("One K for all ports would be {k} kB, and {cost}.")
    })
}

/// The last run.
fn together(advice: &FabricAdvice) -> String {
    let tests = || advice.classes.iter().flat_map(|c| c.tests.iter().map(move |t| (c, t)));
    let lost = |t: &lowtide_sizing::fabric::LineTest| (t.best - t.utilisation) * 100.0;
    let worst = tests().max_by(|a, b| lost(a.1).total_cmp(&lost(b.1)));
    let mut parts = Vec::new();
    if let Some((class, test)) = worst {
        let loss = lost(test);
        let verdict = if loss > advice.margin_points { "more than" } else { "within" };
        parts.push(format!(
            "long flows on the worst ECMP path lose at most {:.1} points of a line ({} flows at {}), \
             {verdict} the {:.1} allowed",
            loss.max(0.0),
            test.flows,
            class.name,
            advice.margin_points,
        ));
    }
    if let Some(racks) = &advice.between_racks {
        parts.push(format!(
            "one flow from each of {} hosts of a rack to another rack gets {:.1} of {:.1} Gbit/s \
             (ECMP as the seeds draw it)",
            racks.flows, racks.utilisation, racks.best
        ));
    }
    format!("With all classes set together, {}.", parts.join("; "))
}

fn hosts(advice: &FabricAdvice) -> String {
    let several = advice.bursts.len() > 1;
    let of = |b: &HostBurst| {
        let HostBurst { mtu_bytes: mtu, hosts, burst_bytes: burst } = b;
        let who = if several { format!("{hosts} hosts") } else { "Hosts".to_owned() };
        if burst > mtu {
            format!(
                "{who} send bursts of up to {} packets of {mtu} B, {} kB (segmentation offload)",
                burst / mtu,
                kilobytes(*burst)
            )
        } else {
            format!("{who} send packets of {mtu} B one by one")
        }
    };
    let mut out = advice.bursts.iter().map(of).collect::<Vec<_>>().join("; ");
    if several {
        out += ". Between two hosts the smaller MSS counts; of each rack the long flows take the hosts \
                with the largest packets first";
    }
    if advice.bursts.iter().any(|b| b.burst_bytes <= b.mtu_bytes) {
        out += ". Hosts with segmentation offload send up to 64 KiB at once and need a larger K: \
                repeat with -s transport.host-profile=linux";
    }
    format!("{out}. The port of a host is no switch port and marks nothing here.")
}

/// The first drops and timeouts.
fn growth(steps: &[GrowthStep]) -> Vec<String> {
    let mut out = Vec::new();
    for what in ["load", "fan-in"] {
        let own: Vec<&GrowthStep> = steps.iter().filter(|step| step.what == what).collect();
        let (Some(first), Some(last)) = (own.first(), own.last()) else { continue };
        let range = format!("{what} from {} to {}", first.value, last.value);
        let dropped = own.iter().find(|step| step.drops > 0.0);
        let late =
            own.iter().find(|step| step.timeouts > 0.0 || step.queries_with_timeout > Some(0.0));
        let at = |step: Option<&&GrowthStep>, name: &str| match step {
            Some(step) => format!("the first {name} at {}", step.value),
            None => format!("no {name}"),
        };
        let share = own.iter().map(|step| step.traffic_share).fold(1.0, f64::min) * 100.0;
        out.push(format!(
            "{range}, one run each with at least {share:.0} % of the scenario's flows, queries, \
             iterations and time after the warm-up: {}, {}.",
            at(dropped, "drops"),
            at(late, "timeouts")
        ));
    }
    out
}

/// Hosts without ECN, the cost of drops, and the remedy.
fn tenants(advice: &FabricAdvice) -> Option<String> {
    if let Some(why) = &advice.tenants_refused {
        return Some(format!("Hosts without ECN were not tried: {why}."));
    }
    let found = advice.tenants.as_ref()?;
    let [drop, ignore, apart] = found.runs.as_slice() else { return None };
    let ratio = |tail: &TenantTail| match (tail.ratio, tail.ratio_ci95) {
        (Some(ratio), Some([low, high])) => format!("{ratio:.2} ({low:.2} to {high:.2})"),
        (Some(ratio), None) => format!("{ratio:.2} (no interval)"),
        (None, _) => "too few short flows".to_owned(),
    };
    let counts = |run: &TenantRun| {
        format!(
            "{:.1} handshakes of a second or more, or unfinished, and {:.1} timeouts",
            run.late_handshakes, run.timeouts
        )
    };
    let tails = |run: &TenantRun| {
        format!("{}, of the other hosts {}", ratio(&run.tail), ratio(&run.others))
    };
    Some(format!(
        "Hosts without ECN ({} of {}, `cubic`, sending `{}` to all; {} seeds, {:.1} % of the traffic) \
         have {} per run where marks are drops for them, and {} without these drops. Short p99 over \
         that without them: {}. With that traffic in a separate queue ({:.0} % of the weight, no marker; {} kB for \
         the others at all ports): {} per run; short p99 {}.",
        found.hosts,
        advice.hosts,
        found.group,
        found.seeds,
        found.traffic_share * 100.0,
        counts(drop),
        counts(ignore),
        tails(drop),
        found.queue_weight * 100.0,
        kilobytes(found.queue_k_bytes),
        counts(apart),
        tails(apart),
    ))
}

/// Bytes in kB, without a fraction of zero.
pub(super) fn kilobytes(bytes: u64) -> String {
    let text = format!("{:.1}", bytes as f64 / 1e3);
    text.trim_end_matches(".0").to_owned()
}
