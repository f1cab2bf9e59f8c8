//! BBR version 1 on one line of 50 Mbit/s and 20 ms, and beside CUBIC: what Cardwell et al. (ACM
//! Queue 2016) and Hock et al. (ICNP 2017) describe. `docs/evidence/findings.md` has it beside the
//! kernel's.

use lowtide_host::Outcome;
use lowtide_rows::ProbeRow;
use lowtide_scenario::Scenario;

const LINE: &str = include_str!("../../../../benches/loss/bbr.toml");
/// 50 Mbit/s by 20 ms, bytes.
const BDP: u64 = 125_000;
const MSS: u64 = 1448;

fn run(text: &str, changes: &[(&str, &str)]) -> Outcome {
    let scenario = Scenario::parse(text, "bbr.toml").expect("a right file");
    let scenario = changes
        .iter()
        .fold(scenario, |s, (key, value)| s.with_override(key, value).expect("a right key"));
    let plan = scenario.expand().expect("a right scenario");
    let setup = plan.runs[0].setup().expect("a right setup");
    lowtide_host::run(&setup, &mut |_| false).expect("a run to its end")
}

fn between(o: &Outcome, from: f64, to: f64) -> impl Iterator<Item = &ProbeRow> {
    o.probes.iter().filter(move |p| (from..to).contains(&(p.time_ps as f64 / 1e12)))
}

fn longest_queue(o: &Outcome, from: f64) -> u64 {
    let late = o.queue_samples.iter().filter(|s| s.time_ps as f64 / 1e12 >= from);
    late.map(|s| s.bytes).max().unwrap_or(0)
}

#[test]
fn it_fills_the_line_with_a_short_queue_and_probes_the_rtt_after_ten_seconds() {
    let o = run(LINE, &[("pipe.line.buffer", "1 MB"), ("run.duration", "11 s")]);
    let delivered = o.flows[0].delivered_after_warmup_bytes;
    let share = delivered * 1538 * 100 / (MSS * 8 * 6_250_000);
    assert!(share >= 95, "{share} % of the line");
    // STARTUP has 2.89 BDP and three quanta of 16.6 kB in flight, PROBE_BW 1.25 BDP and the quanta.
    let startup = longest_queue(&o, 0.0);
    assert!((BDP..2 * BDP + 50_000).contains(&startup), "{startup} B in STARTUP");
    let steady = longest_queue(&o, 1.0);
    assert!(steady < BDP / 2 + 20_000, "{steady} B then");
    let flight = between(&o, 1.0, 11.0).map(|p| p.in_flight_bytes).max();
    assert!(flight < Some(2 * BDP), "{flight:?} in flight");
    let small: Vec<f64> = between(&o, 1.0, 11.0)
        .filter(|p| p.cwnd_bytes <= 4 * MSS)
        .map(|p| p.time_ps as f64 / 1e12)
        .collect();
    let (first, last) = (small[0], *small.last().expect("samples"));
    assert!((10.0..10.1).contains(&first), "PROBE_RTT at {first} s");
    assert!((0.2..0.3).contains(&(last - first)), "for {} s", last - first);
    // Its variables are sampled with the window: `bw` is the line's share of payload.
    let of = |name| o.variables.iter().filter(move |v| v.variable == name);
    assert!(of("bw").count() + 5 > o.probes.len(), "but for the handshake");
    let bw = of("bw").next_back().expect("a sample");
    assert!((46e6..48e6).contains(&bw.value) && bw.unit == "bit/s", "{bw:?}");
    let rtt = of("min-rtt").next_back().expect("a sample");
    assert!((20e6..21e6).contains(&rtt.value) && rtt.unit == "ns", "{rtt:?}");
}

/// Hock et al. §V: CUBIC fills a deep buffer, which BBR's bound of two BDP does not, and backs off
/// from losses of a shallow one, which BBR ignores.
#[test]
fn it_takes_most_beside_cubic_in_a_shallow_buffer_and_least_in_a_deep_one() {
    let hosts = "[hosts.others]\ncount = 1\n[hosts.others.sender]\ncc = \"cubic\"\n\
                 [traffic.cubic]\nkind = \"transfers\"\nfrom = \"others\"\nto = \"receivers\"\n\
                 count = 1\nsize = \"unlimited\"\nstart = \"1 s\"\n";
    let text = format!("{LINE}\n{hosts}");
    let share = |buffer| {
        let o = run(&text, &[("pipe.line.buffer", buffer), ("switch.buffer", "4 MB")]);
        let [bbr, cubic] = [0, 1].map(|i| o.flows[i].delivered_after_warmup_bytes);
        bbr * 100 / (bbr + cubic)
    };
    let (shallow, deep) = (share("62 kB"), share("1 MB"));
    assert!(shallow > 60 && deep < 45, "{shallow} and {deep} % of bbr1");
}

#[test]
fn a_host_that_does_not_pace_is_refused_by_the_name_of_the_control() {
    let scenario = Scenario::parse(LINE, "bbr.toml").expect("a right file");
    let scenario = scenario.with_override("transport.sender.pacing", "off").expect("a right key");
    let errors = scenario.expand().expect_err("it cannot pace");
    let text = errors.iter().map(|e| e.message.clone()).collect::<Vec<_>>().join("; ");
    assert!(text.contains("`bbr1` sends at its own rate"), "{text}");
}

#[test]
fn bbr3_probes_the_rtt_each_five_seconds_and_is_refused_with_ecn() {
    let text = LINE.replace("schemes = [\"bbr1\"]", "schemes = [\"bbr3\"]");
    let o = run(&text, &[("pipe.line.buffer", "1 MB"), ("run.duration", "11 s")]);
    let delivered = o.flows[0].delivered_after_warmup_bytes;
    let share = delivered * 1538 * 100 / (MSS * 8 * 6_250_000);
    assert!(share >= 94, "{share} % of the line");
    let steady = longest_queue(&o, 1.0);
    // UP has 2.25 BDP and extra_acked in flight at most, and ends before.
    assert!(steady < BDP, "{steady} B of queue");
    let probes = o.variables.iter().filter(|v| v.variable == "mode" && v.value > 5.5);
    let times: Vec<f64> = probes.map(|v| v.time_ps as f64 / 1e12).collect();
    let begins: Vec<f64> = times
        .iter()
        .zip([0.0].iter().chain(&times))
        .filter(|(t, b)| *t - *b > 1.0)
        .map(|(t, _)| *t)
        .collect();
    assert!(
        matches!(begins[..], [a, b] if (5.0..5.1).contains(&a) && (5.1..5.5).contains(&(b - a))),
        "{begins:?}"
    );
    let scenario = Scenario::parse(&text, "bbr.toml").expect("a right file");
    let scenario =
        scenario.with_override("transport.connection.ecn", "rfc3168").expect("a right key");
    let errors = scenario.expand().expect_err("its draft has no reaction to CE");
    let text = errors.iter().map(|e| e.message.clone()).collect::<Vec<_>>().join("; ");
    assert!(text.contains("`bbr3` has no reaction to CE"), "{text}");
}
