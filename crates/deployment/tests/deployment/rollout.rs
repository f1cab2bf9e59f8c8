//! Partial deployment on a scenario: the ends are the pure runs, the classes are those of the
//! tables, and wrong requests are refused.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lowtide_deployment::Thresholds;
use lowtide_deployment::rerender_report;
use lowtide_deployment::rollout::{
    GoodputOf, HostDraw, MovedSides, Rollout, RolloutOptions, RolloutResult, RolloutRow, execute,
    tables,
};
use lowtide_lab::{CompletedExperiment, ExecuteOptions, simulate};
use lowtide_record::RunDir;
use lowtide_scenario::Scenario;
use lowtide_stats::Verdict;

use crate::common;

/// `leaf-spine` with fewer flows.
fn scenario() -> Scenario {
    let set = |s: Scenario, (key, value)| s.with_override(key, value).expect("a key");
    [("traffic.background.flows", "60"), ("traffic.queries.queries", "1")]
        .into_iter()
        .fold(Scenario::load("leaf-spine").expect("embedded"), set)
}

fn options<'a>(schemes: [&'a str; 2], points: &'a [String]) -> RolloutOptions<'a> {
    RolloutOptions {
        schemes,
        moves: MovedSides::Both,
        draw: HostDraw::Random,
        points,
        thresholds: Thresholds::built_in().expect("built in").rollout,
        seeds: Some(3),
    }
}

fn run(rollout: &Rollout, dir: &Path) -> (CompletedExperiment, RolloutResult) {
    let source = rollout.scenario().text();
    let options = ExecuteOptions { source, command: "lowtide matrix --on", ..common::options(dir) };
    execute(rollout, &rollout.plan().expect("a plan"), &options).expect("results")
}

fn points(list: &[&str]) -> Vec<String> {
    list.iter().map(|p| (*p).to_owned()).collect()
}

fn all_sizes(result: &RolloutResult) -> impl Iterator<Item = &RolloutRow> {
    result.rows.iter().filter(|r| r.sizes == "all")
}

#[test]
fn the_ends_are_the_pure_runs_and_the_classes_those_of_the_tables() {
    let temp = tempfile::tempdir().unwrap();
    let points = points(&["50", "100"]);
    let rollout = Rollout::new(scenario(), &options(["sack", "dctcp"], &points)).unwrap();
    let (finished, result) = run(&rollout, temp.path());
    let digests = |share: &str| {
        let of = |r: &&lowtide_lab::RunFacts| r.key.point.get("deployment.share") == Some(share);
        finished.results.runs.iter().filter(of).map(|r| r.digest.clone()).collect::<Vec<_>>()
    };
    for (share, scheme) in [("0 %", "sack"), ("100 %", "dctcp")] {
        let pure = scenario().with_override("compare.schemes", scheme).unwrap().seeds(3).unwrap();
        let pure = simulate(&pure.expand().unwrap(), 2).unwrap();
        let pure: Vec<_> = pure.runs.iter().map(|r| r.digest.clone()).collect();
        assert_eq!(digests(share), pure, "{scheme}");
    }
    // Every flow of every seed is in one pair, as the tables say.
    let (dir, manifest) = RunDir::open(temp.path()).unwrap();
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for run in &manifest.runs {
        for flow in dir.flows(run.key.run).unwrap() {
            let class = |c: Option<lowtide_rows::DeploymentClass>| c.unwrap().name();
            let pair = format!("{}>{}", class(flow.src_deployment), class(flow.dst_deployment));
            if flow.ideal_ps.is_some() {
                let share = run.key.point.get("deployment.share").unwrap().to_owned();
                *counts.entry((share, pair)).or_default() += 1;
            }
        }
    }
    let found: BTreeMap<_, _> = all_sizes(&result)
        .map(|r| ((format!("{} %", r.share_percent), r.pair.to_owned()), r.outcome.count))
        .collect();
    assert_eq!(found, counts);
    assert_eq!(all_sizes(&result).map(|r| r.outcome.count).sum::<u64>(), 3 * 180);
    // The moved hosts reach old ones as NewReno without ECN, and each other as DCTCP.
    for (pair, used, fell_back) in
        [("old>old", "newreno", false), ("new>old", "newreno", true), ("new>new", "dctcp", false)]
    {
        let row = result
            .connections
            .iter()
            .find(|c| c.share_percent > 1.0 && c.pair == pair && c.transport.cc_used == used);
        let row = row.unwrap_or_else(|| panic!("{pair}: {:?}", result.connections));
        assert_eq!((row.fell_back, row.connections), (fell_back, row.of), "{pair}");
    }
    // Three seeds have no interval, so no difference is decided; equal flows are the same.
    let decided =
        |r: &&RolloutRow| matches!(r.outcome.verdict, Some(Verdict::Better | Verdict::Worse));
    assert_eq!(result.rows.iter().find(decided).map(|r| &r.pair), None);
    assert!(result.verdict.contains("none is shown to pay; none is shown to gain"));
    assert!(result.verdict.contains("Fewer than five seeds"), "{}", result.verdict);
    let of = all_sizes(&result).find(|r| r.share_percent > 99.0).unwrap();
    let compared = of.outcome.comparison.as_ref().unwrap();
    assert!(compared.p50.ratio_ci95.is_none() && compared.p50.ratio_seed_range.is_some());
    for table in tables(&result) {
        assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{}", table.title);
    }
    let json = dir.read("deployment.json").unwrap();
    std::fs::remove_file(temp.path().join("deployment.json")).unwrap();
    rerender_report(temp.path()).unwrap();
    assert_eq!(dir.read("deployment.json").unwrap(), json);
    let csv = dir.read("deployment.csv").unwrap();
    assert_eq!(csv.lines().count(), 4 * result.rows.len() + 1, "a line for each percentile");
    let columns = csv.lines().next().unwrap().split(',').count();
    let judged = |line: &&str| !line.ends_with(',') && !line.ends_with(",verdict");
    let compared = result.rows.iter().filter(|row| row.outcome.verdict.is_some()).count();
    assert_eq!(csv.lines().filter(judged).count(), compared, "a verdict for each comparison");
    assert!(csv.lines().all(|line| line.split(',').count() == columns), "{csv}");
}

#[test]
fn flows_of_the_warm_up_do_not_count_and_cut_off_ones_have_bounds() {
    let temp = tempfile::tempdir().unwrap();
    let all = points(&["100"]);
    let set = [("run.warmup", "1 ms"), ("run.duration", "3 ms"), ("run.end", "duration")];
    let scenario =
        set.into_iter().fold(scenario(), |s, (key, value)| s.with_override(key, value).unwrap());
    let options = RolloutOptions { seeds: Some(1), ..options(["sack", "dctcp"], &all) };
    let (_, result) = run(&Rollout::new(scenario, &options).unwrap(), temp.path());
    let (dir, manifest) = RunDir::open(temp.path()).unwrap();
    let [before, after] = [0, 1].map(|run| dir.flows(manifest.runs[run].key.run).unwrap());
    let counted = |flow: &&lowtide_rows::FlowRow| {
        flow.ideal_ps.is_some() && (1_000_000_000..3_000_000_000).contains(&flow.start_ps)
    };
    let flows: Vec<_> = after.iter().filter(counted).collect();
    let cut = flows.iter().filter(|flow| flow.fct_ps.is_none()).count();
    assert!(flows.len() < before.len() && cut > 0, "{} {cut}", flows.len());
    let row = all_sizes(&result).find(|row| row.share_percent > 99.0).unwrap();
    let found = &row.outcome;
    assert_eq!((found.count, found.unfinished), (flows.len() as u64, cut as u64));
    // The lower bound of the median is that with each cut-off flow at its age.
    let value = |flow: &&lowtide_rows::FlowRow| {
        let ps = flow.fct_ps.unwrap_or(3_000_000_000 - flow.start_ps);
        (ps as f64 / flow.ideal_ps.unwrap() as f64).max(1.0)
    };
    let mut values: Vec<f64> = flows.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    let least = values[flows.len().div_ceil(2) - 1];
    let p50 = &found.percentiles.p50;
    let low = p50.between.map_or(p50.value, |[low, _]| low).unwrap();
    assert!((low - least).abs() < 1e-9, "{low} {least}");
}

#[test]
fn queries_are_split_by_the_class_of_their_client() {
    let temp = tempfile::tempdir().unwrap();
    let points = points(&["50"]);
    let set = [("traffic.background.flows", "8"), ("traffic.queries.queries", "12")];
    let scenario = set
        .into_iter()
        .fold(scenario(), |s, (key, value)| s.with_override(key, value).expect("a key"));
    let rollout = Rollout::new(scenario, &options(["sack", "dctcp"], &points)).unwrap();
    let (_, result) = run(&rollout, temp.path());
    let (dir, manifest) = RunDir::open(temp.path()).unwrap();
    // The tables have the class of each client in the rows of its connections.
    let mut reader = dir.reader().unwrap();
    let (mut times, mut before) = (BTreeMap::new(), BTreeMap::new());
    let mut first: BTreeMap<(u64, u32, u32), f64> = BTreeMap::new();
    for run in &manifest.runs {
        let tables = reader.take(run.key.run).unwrap().unwrap();
        let share = run.key.point.get("deployment.share").unwrap().to_owned();
        for query in &tables.queries {
            let of = |f: &&lowtide_rows::FlowRow| *f.dst == *query.client;
            let class = tables.flows.iter().find(of).unwrap().dst_deployment.unwrap().name();
            let ms = query.qct_ps.unwrap() as f64 / 1e9;
            let id = (run.key.seed, query.query_client, query.query);
            let then = *first.entry(id).or_insert(ms);
            times.entry((share.clone(), class)).or_insert_with(Vec::new).push(ms);
            before.entry((share.clone(), class)).or_insert_with(Vec::new).push(then);
        }
    }
    let median = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len().div_ceil(2) - 1]
    };
    assert_eq!(times.len(), 3, "old ones at 0 %, both classes at 50 %");
    assert_eq!(result.queries.len(), times.len());
    for row in &result.queries {
        let class = (format!("{} %", row.share_percent), row.client);
        let near = |found: Option<f64>, wanted: f64| {
            assert!((found.unwrap() - wanted).abs() < 1e-9, "{class:?}: {found:?}, {wanted}");
        };
        let of = &row.outcome;
        assert_eq!((of.count, row.group.as_str()), (times[&class].len() as u64, "queries"));
        let now = median(&times[&class]);
        near(of.percentiles.p50.value, now);
        let Some(compared) = &of.comparison else {
            assert_eq!((row.share_percent, of.judged, of.verdict), (0.0, None, None));
            continue;
        };
        let then = median(&before[&class]);
        near(compared.p50.a.value, then);
        near(compared.p50.ratio, now / then);
        assert_eq!(of.percentiles.p99.note.as_deref(), Some("needs 100 flows"));
        assert_eq!((of.judged, compared.p95.verdict), (Some("p95"), of.verdict));
        assert_eq!(of.verdict, Some(Verdict::Undecided));
    }
    let csv = dir.read("deployment-queries.csv").unwrap();
    assert_eq!(csv.lines().count(), 4 * result.queries.len() + 1);
    assert!(csv.starts_with("share_percent,moved_hosts,group,client,count,"), "{csv}");
    let page = dir.read("report.html").unwrap();
    assert!(
        page.contains("Which queries pay?")
            && page.contains("queries: query completion time of 3 seeds")
    );
    assert_eq!(tables(&result).len(), 8);
}

#[test]
fn schemes_take_precedence_over_switches_of_the_scenario() {
    let temp = tempfile::tempdir().unwrap();
    let half = points(&["50"]);
    let resolved = scenario().expand().unwrap().runs[0].resolved_toml();
    let resolved = Scenario::parse(&resolved, "resolved.toml").unwrap();
    let rollout = Rollout::new(resolved, &options(["cubic", "dctcp"], &half)).unwrap();
    let (_, of_resolved) = run(&rollout, &temp.path().join("resolved"));
    let rollout = Rollout::new(scenario(), &options(["cubic", "dctcp"], &half)).unwrap();
    let (_, of_source) = run(&rollout, &temp.path().join("source"));
    assert!(of_source.connections.iter().any(|c| c.transport.cc_used == "cubic"));
    assert_eq!(of_resolved.connections, of_source.connections);
    assert_eq!(of_resolved.rows, of_source.rows);
}

#[test]
fn different_names_of_one_transport_are_refused() {
    let half = points(&["50"]);
    let of = |schemes: [&str; 2]| Rollout::new(scenario(), &options(schemes, &half));
    let refused = of(["dctcp", "dctcp+delack-segments=2"]).unwrap_err();
    assert!(refused.to_string().contains("run the same with `dctcp`"), "{refused}");
    // A comparison of a scheme with itself is no mistake.
    assert!(of(["dctcp", "dctcp"]).is_ok());
}

#[test]
fn one_sided_moves_and_schemes_need_no_permission() {
    let half = points(&["50"]);
    for (schemes, moves) in [
        (["ecn", "dctcp"], MovedSides::Senders),
        (["ecn", "dctcp"], MovedSides::Receivers),
        (["ecn", "odctcp-sender"], MovedSides::Both),
        (["ecn", "odctcp-receiver"], MovedSides::Both),
    ] {
        let options = RolloutOptions { moves, ..options(schemes, &half) };
        let plan = Rollout::new(scenario(), &options).and_then(|r| r.plan());
        let plan = plan.unwrap_or_else(|e| panic!("{schemes:?}: {e}"));
        assert_eq!((plan.runs.len(), plan.points.len()), (6, 2));
    }
}

#[test]
fn wrong_requests_are_refused_in_one_sentence() {
    let error = |scenario: Scenario, schemes, list: &[&str], draw| {
        let points = points(list);
        let options = RolloutOptions { draw, ..options(schemes, &points) };
        let found = Rollout::new(scenario, &options).and_then(|r| r.plan());
        found.expect_err("it is wrong").to_string()
    };
    let known = ["sack", "dctcp"];
    for (schemes, list, draw, wanted) in [
        (["sack", "dctpc"], &["50"][..], HostDraw::Random, "there is no scheme or profile `dctpc`"),
        (["sack", "linux/dctcp"], &["50"], HostDraw::Random, "moved hosts keep their profile"),
        (known, &["30"], HostDraw::Random, "a share of 30 % of 32 hosts is 9.60 hosts"),
        (known, &["12.5"], HostDraw::Rack, "a share of 12.5 % of 4 racks is 0.50 racks"),
        (known, &["120"], HostDraw::Random, "120 % is not a share"),
        (known, &["half"], HostDraw::Random, "`share`"),
    ] {
        let shown = error(scenario(), schemes, list, draw);
        assert!(shown.contains(wanted), "{shown}");
    }
    let absent = scenario().with_override("deployment.hosts", "clients").unwrap();
    let shown = error(absent, known, &["50"], HostDraw::Random);
    assert!(shown.contains("no host group `clients`"), "{shown}");
    let swept = scenario().with_sweep("switch.mark.k", &["20 pkt".into(), "65 pkt".into()]);
    let shown = error(swept.unwrap(), known, &["50"], HostDraw::Random);
    assert!(shown.contains("`leaf-spine` sweeps `switch.mark.k`"), "{shown}");
}

#[test]
fn goodput_and_the_longest_queue_follow_from_the_tables() {
    let temp = tempfile::tempdir().unwrap();
    let set = [
        ("hosts.senders.count", "4"),
        ("hosts.receivers.count", "2"),
        ("traffic.pair.count", "4"),
        ("run.duration", "300 ms"),
        ("run.warmup", "100 ms"),
    ];
    let scenario = Scenario::load("two-flows-1g").unwrap();
    let scenario =
        set.into_iter().fold(scenario, |s, (key, value)| s.with_override(key, value).unwrap());
    let half = points(&["50"]);
    let rollout = Rollout::new(scenario, &options(["sack", "dctcp"], &half)).unwrap();
    let (_, result) = run(&rollout, temp.path());
    assert!(result.rows.is_empty() && result.verdict.contains("undecided: unlimited "));
    let (dir, manifest) = RunDir::open(temp.path()).unwrap();
    let mut reader = dir.reader().unwrap();
    // By share, pair and seed: bytes, and the goodput of each flow.
    let mut flows: BTreeMap<(String, String, u64), Vec<f64>> = BTreeMap::new();
    let mut queues: BTreeMap<String, Vec<(u32, f64)>> = BTreeMap::new();
    for run in &manifest.runs {
        let tables = reader.take(run.key.run).unwrap().unwrap();
        let share = run.key.point.get("deployment.share").unwrap().to_owned();
        for flow in &tables.flows {
            let class = |c: Option<lowtide_rows::DeploymentClass>| c.unwrap().name();
            let pair = format!("{}>{}", class(flow.src_deployment), class(flow.dst_deployment));
            let mbps = flow.delivered_after_warmup_bytes as f64 * 8.0 / 0.2 / 1e6;
            flows.entry((share.clone(), pair, run.key.seed)).or_default().push(mbps);
        }
        let at_switch = tables.queues.iter().filter(|q| q.at_switch);
        let lengths =
            at_switch.map(|q| (q.length.p99_packets.unwrap(), q.length.mean_packets.unwrap()));
        queues.entry(share).or_default().push(lengths.max_by_key(|(p99, _)| *p99).unwrap());
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let near = |found: f64, wanted: f64| {
        assert!((found - wanted).abs() < 1e-9 * wanted, "{found} is not {wanted}");
    };
    for row in &result.goodput {
        let share = format!("{} %", row.share_percent);
        let seeds = flows.iter().filter(|((s, pair, _), _)| *s == share && pair == row.pair);
        let of_seed = |flows: &Vec<f64>| match row.of {
            GoodputOf::Pair => flows.iter().sum(),
            GoodputOf::UnlimitedFlow => mean(flows),
        };
        let seeds: Vec<f64> = seeds.map(|(_, flows)| of_seed(flows)).collect();
        assert_eq!(row.seeds, seeds.len());
        near(row.goodput_mbps.value.unwrap(), mean(&seeds));
        assert_eq!(row.comparison.is_some(), row.share_percent > 0.0);
        assert_eq!(
            row.verdict.is_some(),
            row.comparison.is_some() && row.of == GoodputOf::UnlimitedFlow
        );
    }
    let pairs = flows.keys().map(|(share, pair, _)| (share, pair)).collect::<BTreeSet<_>>();
    assert_eq!(result.goodput.len(), 2 * pairs.len());
    for row in &result.longest_queues {
        let longest = &queues[&format!("{} %", row.share_percent)];
        let p99: Vec<f64> = longest.iter().map(|(p99, _)| f64::from(*p99)).collect();
        let means: Vec<f64> = longest.iter().map(|(_, mean)| *mean).collect();
        near(row.p99_packets.value.unwrap(), mean(&p99));
        near(row.mean_packets.value.unwrap(), mean(&means));
        assert_eq!(row.queues.values().sum::<usize>(), 3);
    }
    assert_eq!(result.longest_queues.len(), 2);
    let lines = |file: &str| dir.read(file).unwrap().lines().count();
    assert_eq!(lines("deployment-goodput.csv"), result.goodput.len() + 1);
    assert_eq!(lines("deployment-queues.csv"), 3);
    let page = dir.read("report.html").unwrap();
    assert!(page.contains("How long is the longest queue?") && !page.contains("Who pays?"));
}
