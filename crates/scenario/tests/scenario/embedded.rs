//! Embedded scenarios and templates.

use lowtide_host::run;
use lowtide_rows::{EndReason, FlowStatus};
use lowtide_scenario::{Estimate, Scenario, TEMPLATES, Template, embedded_scenarios, template};
use lowtide_units::{Bytes, Duration, Rate};

#[test]
fn every_embedded_scenario_expands_under_its_name() {
    let names: Vec<_> = embedded_scenarios().iter().map(|e| e.name).collect();
    assert_eq!(
        names,
        [
            "bench-dumbbell",
            "bench-incast",
            "bench-permutation",
            "bench-websearch",
            "dctcp-kernel",
            "dumbbell-10g",
            "fat-tree-websearch",
            "first-light",
            "incast",
            "leaf-spine",
            "matrix",
            "mixed-deployment-100m",
            "own-flows",
            "queue-buildup",
            "queue-buildup-100m",
            "schemes-10g",
            "training",
            "two-flows-1g"
        ]
    );
    for entry in embedded_scenarios() {
        let plan = Scenario::load(entry.name)
            .unwrap()
            .expand()
            .unwrap_or_else(|e| panic!("{}: {e}", entry.name));
        assert_eq!(plan.name, entry.name);
        assert_eq!(plan.title, entry.title());
        assert!(!plan.title.is_empty());
    }
}

#[test]
fn every_template_is_valid() {
    for Template { name: kind, text, .. } in TEMPLATES {
        let plan = Scenario::parse(text, "new.toml").unwrap().expand();
        assert!(plan.is_ok(), "{kind}: {}", plan.unwrap_err());
        assert!(text.contains(&format!("kind = \"{kind}\"")));
    }
    assert_eq!(template("star"), TEMPLATES.last().map(|t| t.text));
    assert_eq!(template("torus"), None);
}

#[test]
fn commented_lines_of_templates_are_valid() {
    // Uncomments every line `# key = value` or `# [table]`, except those that exclude each other.
    for Template { name: kind, text, .. } in TEMPLATES {
        let mut lines = Vec::new();
        for line in text.lines() {
            let bare = line.strip_prefix("# ").unwrap_or(line);
            let is_key = bare.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
            let is_toml = is_key || bare.starts_with('[');
            lines.push(if is_toml { bare } else { line });
        }
        let all = lines.join("\n");
        assert!(all.lines().filter(|l| l.starts_with('#')).count() < 6, "{all}");
        let scheme = all.lines().find(|l| l.starts_with("scheme = \"dctcp\"")).unwrap();
        let all = all.replacen(scheme, "", 1);
        let plan = Scenario::parse(&all, "new.toml").unwrap().expand();
        assert!(plan.is_ok(), "{kind}: {}", plan.unwrap_err());
    }
}

#[test]
fn queue_buildup_has_the_expected_runs() {
    let plan = Scenario::load("queue-buildup").unwrap().expand().unwrap();
    assert_eq!(plan.schemes, ["sack", "ecn", "dctcp", "odctcp-receiver"]);
    assert_eq!(plan.points.len(), 8);
    assert_eq!(plan.runs.len(), 4 * 8 * 10);
    let last = plan.runs.iter().rfind(|run| run.scheme == "dctcp").unwrap();
    assert_eq!(last.point, [("traffic.short.size".to_owned(), "800 kB".to_owned())]);
    let setup = last.setup().unwrap();
    assert_eq!(setup.hosts.len(), 4);
    assert_eq!((setup.flows[0].src, setup.flows[1].src), (1, 2));
    assert!(setup.flows[2..].iter().all(|f| f.size == Some(Bytes::new(800_000))));
    assert_eq!(setup.flows[2..].iter().filter(|f| f.src == 0).count(), 4);
    let config = &setup.hosts[0].config;
    assert_eq!((config.cc, config.ack, config.feedback), ("dctcp", "dctcp", "dctcp"));
    assert_eq!(config.receive_buffer, Bytes::new(2_000_000));
    assert!(!config.nagle);
}

#[test]
fn first_light_runs_to_its_end() {
    for spec in Scenario::load("first-light").unwrap().expand().unwrap().runs {
        let setup = spec.setup().unwrap();
        let outcome = run(&setup, &mut |_| false).unwrap();
        assert_eq!(outcome.reason, EndReason::Done, "{} {}", spec.scheme, spec.seed);
        assert!(outcome.flows.iter().all(|f| f.status == FlowStatus::Complete));
        let estimate = Estimate::of(&setup);
        let hops = outcome.counts.hops;
        assert!(
            estimate.hops / 2 < hops && hops < estimate.hops * 2,
            "estimated {} for {hops} hops",
            estimate.hops
        );
    }
}

#[test]
fn estimates_know_links_shares_and_seeds() {
    let bench = Scenario::load("bench-dumbbell").unwrap().expand().unwrap();
    let setup = bench.runs[0].setup().unwrap();
    let estimate = bench.estimate();
    assert_eq!((estimate.runs, estimate.hosts, estimate.flows), (1, 20, 10));
    assert_eq!(estimate.simulated, Duration::from_secs(2));
    // Ten flows share 10 Gbit/s: 1538 B on the line per packet, three queues, one ACK for two
    // packets.
    let packets = Rate::from_gbps(10).bytes_in(estimate.simulated).as_u64() / 1538;
    let expected = packets * 3 * 3 / 2;
    assert!(estimate.hops.abs_diff(expected) < expected / 100, "{} {expected}", estimate.hops);
    assert_eq!(Estimate::of(&setup), estimate);

    let main = Scenario::load("queue-buildup").unwrap().expand().unwrap();
    let all = main.estimate();
    assert_eq!(all.runs, 320);
    let one = Estimate::of(&main.runs[239].setup().unwrap());
    // 88 MB over one line of 1 Gbit/s.
    assert!((Duration::from_ms(730)..Duration::from_ms(760)).contains(&one.simulated), "{one:?}");
    assert!(all.hops > one.hops * 267 && all.hops < one.hops * 320);
    assert!(one.memory.as_u64() > 100_000);
}
