//! `[deployment]`: the drawn hosts, their configuration, and wrong tables.

use std::collections::BTreeSet;

use lowtide_host::Setup;
use lowtide_rows::DeploymentClass;
use lowtide_scenario::{RunSpec, Scenario};
use lowtide_tcp::EcnNegotiation;

/// `leaf-spine`, 4 racks of 8 hosts, with `sack` at all hosts and `dctcp` at the moved ones.
fn scenario(keys: &[(&str, &str)]) -> Scenario {
    let scenario = Scenario::load("leaf-spine").expect("embedded").without("compare");
    let all = [("transport.scheme", "sack"), ("deployment.to", "dctcp")];
    let set =
        |s: Scenario, (key, value): &(&str, &str)| s.with_override(key, value).expect("a key");
    all.iter().chain(keys).fold(scenario, set)
}

fn runs(keys: &[(&str, &str)]) -> Vec<RunSpec> {
    scenario(keys).expand().unwrap_or_else(|e| panic!("{e}")).runs
}

fn setup(keys: &[(&str, &str)]) -> Setup {
    runs(keys)[0].setup().expect("a setup")
}

/// Numbers of the moved hosts.
fn moved(setup: &Setup) -> BTreeSet<usize> {
    let is_new = |i: &usize| setup.hosts[*i].deployment == Some(DeploymentClass::New);
    (0..setup.hosts.len()).filter(is_new).collect()
}

fn refused(keys: &[(&str, &str)]) -> String {
    let error = scenario(keys).expand().expect_err("it is wrong");
    assert_eq!(error.iter().count(), 1, "{error}");
    error.to_string()
}

#[test]
fn the_ends_are_the_pure_runs() {
    let pure = |scheme| {
        let scenario = Scenario::load("leaf-spine").unwrap().without("compare");
        let plan = scenario.with_override("transport.scheme", scheme).unwrap().expand().unwrap();
        plan.runs[0].setup().unwrap()
    };
    let configs = |s: &Setup| s.hosts.iter().map(|h| h.config.clone()).collect::<Vec<_>>();
    let (none, all) =
        (setup(&[("deployment.share", "0 %")]), setup(&[("deployment.share", "100 %")]));
    assert_eq!(configs(&none), configs(&pure("sack")));
    assert_eq!(configs(&all), configs(&pure("dctcp")));
    assert_eq!((moved(&none).len(), moved(&all).len()), (0, 32));
    // The draw changes nothing else.
    assert_eq!((&none.flows, &none.query_clients), (&all.flows, &all.query_clients));
    assert_eq!(pure("sack").flows, all.flows);
}

#[test]
fn a_greater_share_moves_the_hosts_of_a_smaller_one_too() {
    for draw in ["random", "rack"] {
        let of =
            |share: &str| moved(&setup(&[("deployment.share", share), ("deployment.draw", draw)]));
        let (quarter, half) = (of("25 %"), of("50 %"));
        assert_eq!((quarter.len(), half.len()), (8, 16));
        assert!(quarter.is_subset(&half), "{draw}");
        let racks: BTreeSet<usize> = quarter.iter().map(|host| host / 8).collect();
        assert_eq!(racks.len() == 1, draw == "rack", "{racks:?}");
    }
    let seeds = runs(&[("run.seeds", "8"), ("deployment.draw", "rack")]);
    let drawn: BTreeSet<_> = seeds.iter().map(|r| moved(&r.setup().unwrap())).collect();
    assert!(drawn.len() > 1, "the seed draws");
}

#[test]
fn one_side_moves_alone() {
    let config = |moves, is| {
        let all = setup(&[("deployment.moves", moves)]);
        all.hosts.into_iter().find(|h| h.deployment == Some(is)).unwrap().config
    };
    for moves in ["both", "senders", "receivers"] {
        let old = config(moves, DeploymentClass::Old);
        assert_eq!((old.cc, old.ack, old.ecn), ("newreno", "rfc3168", EcnNegotiation::Off));
    }
    let side = |moves| {
        let new = config(moves, DeploymentClass::New);
        (new.cc, new.feedback, new.ack, new.ecn)
    };
    assert_eq!(side("both"), ("dctcp", "dctcp", "dctcp", EcnNegotiation::Rfc3168));
    assert_eq!(side("senders"), ("dctcp", "dctcp", "rfc3168", EcnNegotiation::Rfc3168));
    assert_eq!(side("receivers"), ("newreno", "rfc3168", "dctcp", EcnNegotiation::Passive));
}

#[test]
fn an_emitted_run_is_the_same_run() {
    let text = format!(
        "{}\n[compare.bundles.mine]\nbase = \"dctcp\"\n[compare.bundles.mine.sender]\n\
         window-floor = 1\n",
        lowtide_scenario::embedded_scenarios()
            .iter()
            .find(|e| e.name == "leaf-spine")
            .unwrap()
            .text
    );
    let own = Scenario::parse(&text.replace("schemes = [\"sack\", \"dctcp\"]", ""), "own.toml");
    let own = own.unwrap().with_override("transport.scheme", "ecn").unwrap();
    let cases: [&[(&str, &str)]; 5] = [
        &[("deployment.to", "dctcp"), ("deployment.share", "12.5 %")],
        &[("deployment.to", "mine"), ("deployment.draw", "rack")],
        &[("deployment.to", "odctcp-receiver"), ("deployment.moves", "receivers")],
        &[("deployment.sender.cc", "dctcp"), ("deployment.moves", "senders")],
        &[
            ("deployment.to", "dctcp"),
            ("transport.sender.dctcp.shift-g", "5"),
            ("deployment.hosts", "servers[0..8]"),
        ],
    ];
    for keys in cases {
        let set = |s: Scenario, (key, value): &(&str, &str)| s.with_override(key, value).unwrap();
        let plan = keys.iter().fold(own.clone(), set).expand().unwrap_or_else(|e| panic!("{e}"));
        let resolved = plan.runs[0].resolved_toml();
        let again = Scenario::parse(&resolved, "again.toml").unwrap().expand();
        let again = again.unwrap_or_else(|e| panic!("{e}\n{resolved}"));
        assert_eq!(again.runs[0].resolved_toml(), resolved);
        assert_eq!(again.runs[0].setup().unwrap(), plan.runs[0].setup().unwrap(), "{resolved}");
        assert!(moved(&plan.runs[0].setup().unwrap()).len() > 1);
    }
}

#[test]
fn a_scenario_without_a_deployment_has_no_classes() {
    let scenario = Scenario::load("leaf-spine").unwrap();
    let run = &scenario.expand().unwrap().runs[0];
    assert!(run.setup().unwrap().hosts.iter().all(|h| h.deployment.is_none()));
    assert!(!run.resolved_toml().contains("deployment"));
}

#[test]
fn the_share_is_swept() {
    let swept = scenario(&[]).with_sweep("deployment.share", &["0 %".into(), "50 %".into()]);
    let plan = swept.unwrap().expand().unwrap();
    let counts: Vec<usize> = plan.runs.iter().map(|r| moved(&r.setup().unwrap()).len()).collect();
    assert_eq!(counts, [0, 16]);
}

#[test]
fn wrong_tables_are_refused() {
    for (keys, parts) in [
        (&[("deployment.to", "dctpc")][..], &["dctpc", "did you mean `dctcp`?"][..]),
        (
            &[("deployment.share", "30 %")],
            &[
                "a share of 30 % of 32 hosts is 9.60 hosts",
                "28.125 % (9 hosts) and 31.25 % (10 hosts)",
            ],
        ),
        (
            &[("deployment.share", "30 %"), ("deployment.draw", "rack")],
            &[
                "of 4 racks is 1.20 racks",
                "25 % (1 rack) and 50 % (2 racks)",
                "`draw = \"random\"`",
            ],
        ),
        (&[("deployment.share", "150 %")], &["150 % is not a share"]),
        (&[("deployment.share", "-10 %")], &["is not a share"]),
        (&[("deployment.hosts", "clients")], &["no host group `clients`", "servers"]),
        (&[("deployment.hosts", "servers[0..64]")], &["goes beyond the 32 hosts"]),
        (
            &[("deployment.hosts", "servers[0..12]"), ("deployment.draw", "rack")],
            &["the racks of this deployment have 4 to 8 hosts", "`draw = \"random\"`"],
        ),
        (&[("deployment.moves", "none")], &["it is one of both, senders, receivers"]),
    ] {
        let shown = refused(keys);
        assert!(parts.iter().all(|p| shown.contains(p)), "{shown}");
    }
    let bare = Scenario::load("leaf-spine").unwrap().with_override("deployment.share", "50 %");
    let shown = bare.unwrap().expand().unwrap_err().to_string();
    assert!(shown.contains("`to` is missing in [deployment]"), "{shown}");
}
