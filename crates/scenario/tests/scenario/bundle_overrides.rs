//! Keys that a compared bundle sets besides its transport.

use lowtide_scenario::{RunSpec, Scenario};
use lowtide_units::Bytes;

use crate::runs::{plan, with};

#[test]
fn a_compared_bundle_sets_other_tables() {
    let bundle = "[compare]\nschemes = [\"dctcp\", \"quiet\"]\n[compare.bundles.quiet]\nbase = \"hull\"\n\
                  [compare.bundles.quiet.set]\n\"switch.mark.kind\" = \"phantom\"\n\
                  \"switch.mark.k\" = \"15 kB\"\n\"traffic.short.count\" = 3\n";
    let all = plan(&with(bundle));
    assert_eq!(all.schemes, ["dctcp", "quiet"]);
    let [plain, quiet] = &all.runs[..] else { panic!("two runs") };
    assert_eq!((plain.setup().unwrap().flows.len(), quiet.setup().unwrap().flows.len()), (12, 5));
    let resolved = quiet.resolved_toml();
    assert!(resolved.contains("kind = \"phantom\"") && !plain.resolved_toml().contains("phantom"));
    assert_ne!(plain.hash, quiet.hash);
    // The emitted run reads back as that run.
    let again = plan(&resolved);
    assert_eq!(again.runs[0].setup().unwrap().flows.len(), 5);
    assert_eq!(again.runs[0].resolved_toml(), resolved);
    // An override takes precedence.
    let more = Scenario::parse(&with(bundle), "t.toml").unwrap();
    let more = more.with_override("traffic.short.count", "7").unwrap().expand().unwrap();
    assert!(more.runs.iter().all(|run| run.setup().unwrap().flows.len() == 9));
}

#[test]
fn an_override_of_the_key_of_a_bundle_takes_precedence_over_all() {
    let bundle = "[compare]\nschemes = [\"dctcp\", \"fewer\"]\n[compare.bundles.fewer]\nbase = \"hull\"\n\
                  [compare.bundles.fewer.set]\n\"traffic.short.count\" = 3\n";
    let key = "compare.bundles.fewer.set.traffic.short.count";
    let flows = |overrides: &[(&str, &str)]| {
        let scenario = Scenario::parse(&with(bundle), "t.toml").unwrap();
        let with = |s: Scenario, (key, value): &(&str, &str)| s.with_override(key, value);
        let plan = overrides.iter().try_fold(scenario, with).unwrap().expand().unwrap();
        let count = |run: &RunSpec| run.setup().unwrap().flows.len();
        plan.runs.iter().map(count).collect::<Vec<_>>()
    };
    assert_eq!(flows(&[]), [12, 5]);
    assert_eq!(flows(&[(key, "4")]), [12, 6]);
    assert_eq!(flows(&[(key, "4"), ("traffic.short.count", "7")]), [9, 6]);
    assert_eq!(flows(&[("traffic.short.count", "7"), (key, "4")]), [9, 6]);
    for (key, says) in [
        ("compare.bundles.fewre.set.traffic.short.count", "there is no [compare.bundles.fewre]"),
        ("compare.bundles.fewer.set.traffic.short.cuont", "no key `cuont`"),
    ] {
        let scenario = Scenario::parse(&with(bundle), "t.toml").unwrap();
        let error = scenario.with_override(key, "4").unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_star_in_the_set_of_a_bundle_matches_all_tables() {
    let bundle = "[compare]\nschemes = [\"sack\", \"short-ones\"]\n[compare.bundles.short-ones]\nbase = \"sack\"\n\
         [compare.bundles.short-ones.set]\n\"traffic.*.size\" = \"7 kB\"\n";
    let sizes = |run: &RunSpec| {
        let flows = run.setup().unwrap().flows;
        [flows[0].size, flows[2].size]
    };
    let plan = plan(&with(bundle));
    let seven = Some(Bytes::new(7_000));
    assert_eq!(sizes(&plan.runs[1]), [seven, seven]);
    assert_ne!(sizes(&plan.runs[0]), [seven, seven]);
}

#[test]
fn a_bundle_sets_only_known_keys_that_are_not_swept() {
    let error_of = |line: &str, more: &str| {
        let text = format!(
            "[compare]\nschemes = [\"mine\"]\n[compare.bundles.mine]\nbase = \"dctcp\"\n\
             [compare.bundles.mine.set]\n{line}\n{more}"
        );
        let error = Scenario::parse(&with(&text), "t.toml").unwrap().expand().unwrap_err();
        error.to_string()
    };
    for (line, more, says) in [
        ("\"switch.mark.kk\" = \"3 pkt\"", "", "no key `kk` in [switch.mark]"),
        ("\"transport.sender.nagle\" = true", "", "defines its own transport"),
        ("\"run.seeds\" = 3", "", "the same for all runs"),
        ("\"switch.mark.k\" = \"seven\"", "", "`k`"),
        (
            "\"switch.mark.k\" = \"9 pkt\"",
            "[sweep]\n\"switch.mark.k\" = [\"5 pkt\", \"6 pkt\"]",
            "it is swept",
        ),
        (
            "\"traffic.*.size\" = \"7 kB\"",
            "[sweep]\n\"traffic.short.size\" = [\"1 kB\", \"2 kB\"]",
            "it is swept",
        ),
    ] {
        let error = error_of(line, more);
        assert!(error.contains(says), "{line}: {error}");
    }
}
