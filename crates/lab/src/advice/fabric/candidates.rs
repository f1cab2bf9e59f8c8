//! The scenarios of a request for advice: its candidates, and two long flows on one line.

use lowtide_host::Setup;
use lowtide_scenario::{RunSpec, Scenario};
use lowtide_units::{Duration, Ratio};
use toml::{Table, Value};

use super::{PACKET, SHORT_FLOWS, wrong};
use crate::error::LabError;
use crate::ideal::BasePath;
use crate::times::bytes;

/// The least candidate is the analysis' K divided by this; each further one is twice as large.
const BELOW: u64 = 4;
/// The candidates end at this many times the analysis' K, or at this many bursts of a host.
const ABOVE: u64 = 16;
const BURSTS: u64 = 4;
/// Least K that is tried, packets.
const MIN_PACKETS: u64 = 4;
/// Round trips of the runs that fill a line: warm-up, and all.
const WARMUP_ROUND_TRIPS: u64 = 400;
const ROUND_TRIPS: u64 = 1600;
/// Exponents of two of the alphas that are tried: of those that switches have, -7 to 6.
const ALPHA_EXPONENTS: [i32; 6] = [-3, -2, -1, 0, 1, 3];

/// The fabric that the advice is for.
pub(super) struct Subject {
    pub(super) scenario: Scenario,
    pub(super) setup: Setup,
    /// Traffic group with the most flows of different sizes.
    pub(super) group: String,
    /// Name of the class of its short flows.
    pub(super) class: String,
    /// Host group with the most hosts, and their number.
    hosts: (String, u64),
    /// Factor of the shared memory; `None` with a fixed buffer.
    pub(super) alpha: Option<String>,
}

/// Reads the scenario, and sets what the rule needs: size classes, and a threshold in bytes.
///
/// # Errors
/// It sweeps or compares something, marks by another rule, or lacks what the rule needs.
pub(super) fn subject(scenario: &Scenario) -> Result<Subject, LabError> {
    let classes = format!("[\"{SHORT_FLOWS}\", \"1 MB\", \"10 MB\"]");
    let scenario = scenario
        .clone()
        .with_override("probes.size-classes", &classes)?
        .with_override("probes.interval", "off")?;
    let plan = scenario.expand()?;
    if plan.schemes.len() > 1 || plan.points.len() > 1 {
        return Err(LabError::InvalidRequest {
            message: format!("`{}` compares or sweeps something itself", plan.name),
            help: Some("advice is for one scheme and one point: set them with -s".to_owned()),
        });
    }
    let run = plan.runs.first().ok_or_else(|| wrong("the scenario has no runs"))?;
    let table: Table = run.resolved_toml().parse().unwrap_or_default();
    let setup = run.setup()?;
    let mut hosts: Vec<(String, u64)> = Vec::new();
    for group in &setup.host_groups {
        let count = setup
            .hosts
            .iter()
            .filter(|h| setup.host_groups.get(usize::from(h.group)) == Some(group));
        hosts.push((group.clone(), count.count() as u64));
    }
    let hosts = hosts.into_iter().max_by_key(|(_, n)| *n).filter(|(_, n)| *n >= 3);
    let hosts = hosts.ok_or_else(|| wrong("advice needs a group of at least three hosts"))?;
    let count = |i: usize| {
        let mut sizes: Vec<u64> = setup
            .flows
            .iter()
            .filter(|f| usize::from(f.group) == i)
            .filter_map(|f| Some(f.size?.as_u64()))
            .collect();
        let short = sizes.iter().filter(|s| **s <= SHORT_FLOWS.as_u64()).count();
        sizes.sort_unstable();
        sizes.dedup();
        if sizes.len() > 1 { short } else { 0 }
    };
    let groups = (0..setup.traffic_groups.len()).map(|i| (i, count(i)));
    let group = groups.max_by_key(|(_, n)| *n).filter(|(_, n)| *n > 0);
    let Some((group, _)) = group else {
        return Err(wrong(&format!(
            "advice is by the tail of short flows, and no traffic group has flows of different sizes \
             with some up to {SHORT_FLOWS}: use a distribution of sizes"
        )));
    };
    let switch = table.get("switch").and_then(Value::as_table).cloned().unwrap_or_default();
    let dynamic = switch.get("buffer").and_then(Value::as_str) == Some("dynamic");
    let alpha =
        switch.get("alpha").map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
    Ok(Subject {
        group: setup.traffic_groups[group].clone(),
        class: format!("0 B-{}", bytes(SHORT_FLOWS.as_u64())),
        hosts,
        alpha: alpha.filter(|_| dynamic),
        scenario,
        setup,
    })
}

/// Candidates for K in packets, ascending, that the buffer allows. The analysis assumes hosts
/// without bursts; a host's burst of `burst` segments needs more room (DCTCP §4.1).
pub(super) fn candidates(subject: &Subject, k_above: f64, burst: u64) -> Vec<u64> {
    let all = ladder(k_above, burst);
    let allowed =
        |k: &u64| with_k(&subject.scenario, k * PACKET.as_u64()).is_ok_and(|s| s.expand().is_ok());
    all.into_iter().filter(allowed).collect()
}

/// Powers of two times the analysis' bound, packets.
fn ladder(k_above: f64, burst: u64) -> Vec<u64> {
    let base = (k_above.floor() as u64 + 1).max(MIN_PACKETS);
    let most = (ABOVE * base).max(if burst > 1 { BURSTS * burst } else { 0 });
    let powers = (0..u64::BITS).map(|i| base.saturating_mul(1 << i) / BELOW);
    let mut all: Vec<u64> =
        powers.take_while(|k| *k <= most).map(|k| rounded(k.max(MIN_PACKETS))).collect();
    all.dedup();
    all
}

/// Rounds to two digits.
fn rounded(n: u64) -> u64 {
    let scale = 10_u64.pow(n.max(1).ilog10().saturating_sub(1));
    (n + scale / 2) / scale * scale
}

/// The scenario with this threshold, bytes, by the rule that switches have: packets that are not
/// ECN-capable are dropped where others are marked.
pub(super) fn with_k(scenario: &Scenario, bytes: u64) -> Result<Scenario, LabError> {
    Ok(scenario
        .clone()
        .without("switch.mark")
        .with_override("switch.mark.kind", "step")?
        .with_override("switch.mark.k", &format!("{bytes} B"))?
        .with_override("switch.mark.not-ect", "drop")?)
}

/// The scenario with this factor of the shared memory.
pub(super) fn with_alpha(scenario: &Scenario, alpha: &str) -> Result<Scenario, LabError> {
    Ok(scenario.clone().with_override("switch.alpha", alpha)?)
}

/// Values of alpha that a switch can have, ascending, and the present one.
pub(super) fn alphas(own: &str) -> Vec<String> {
    let power = |e: &i32| {
        if *e < 0 { format!("1/{}", 1 << -e) } else { (1 << e).to_string() }
    };
    let mut all: Vec<String> = ALPHA_EXPONENTS.iter().map(power).collect();
    if !all.iter().any(|a| a == own) {
        all.push(own.to_owned());
    }
    let size = |text: &String| {
        Ratio::parse(text).map_or(0, |r| u64::from(r.num) * 1_000_000 / u64::from(r.den.get()))
    };
    all.sort_by_key(size);
    all
}

/// The fabric with no traffic but two long flows, from the last hosts to the first one.
pub(super) fn filled_line(
    scenario: &Scenario,
    subject: &Subject,
    path: &BasePath,
) -> Result<Scenario, LabError> {
    let (group, count) = &subject.hosts;
    let plan = scenario.expand()?;
    let resolved = plan.runs.first().map(RunSpec::resolved_toml).unwrap_or_default();
    let mut table: Table = resolved.parse().unwrap_or_default();
    let text = |text: String| Value::String(text);
    let long = Table::from_iter([
        ("kind".to_owned(), text("transfers".to_owned())),
        ("from".to_owned(), text(format!("{group}[{}..{count}]", count - 2))),
        ("to".to_owned(), text(format!("{group}[0..1]"))),
        ("count".to_owned(), Value::Integer(2)),
        ("size".to_owned(), text("unlimited".to_owned())),
    ]);
    let traffic = Table::from_iter([("long".to_owned(), Value::Table(long))]);
    table.insert("traffic".to_owned(), Value::Table(traffic));
    // Its lists name traffic groups.
    table.remove("probes");
    // The limit of an open loop, which these flows are not.
    if let Some(Value::Table(run)) = table.get_mut("run") {
        run.remove("end-limit");
    }
    let span = |round_trips: u64| {
        let ns = Duration::from_ps(path.rtt.as_ps().saturating_mul(round_trips)).as_ns();
        format!("{} ns", ns.max(1))
    };
    Ok(Scenario::parse(&table.to_string(), "line.toml")?
        .with_override("run.duration", &span(ROUND_TRIPS))?
        .with_override("run.warmup", &span(WARMUP_ROUND_TRIPS))?
        .with_override("run.end", "duration")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_two_digits() {
        for (n, shown) in [(4, 4), (17, 17), (99, 99), (123, 120), (127, 130), (1288, 1300)] {
            assert_eq!(rounded(n), shown, "{n}");
        }
    }

    #[test]
    fn candidates_reach_beyond_the_bursts_of_hosts() {
        assert_eq!(ladder(9.5, 1), [4, 5, 10, 20, 40, 80, 160]);
        assert_eq!(ladder(1.2, 1), [4, 8, 16, 32, 64]);
        assert_eq!(ladder(1.2, 45), [4, 8, 16, 32, 64, 130]);
    }

    #[test]
    fn alpha_is_tried_at_powers_of_two_and_at_its_present_value() {
        assert_eq!(alphas("1"), ["1/8", "1/4", "1/2", "1", "2", "8"]);
        assert_eq!(alphas("1/5"), ["1/8", "1/5", "1/4", "1/2", "1", "2", "8"]);
    }
}
