use lowtide_record::{DataFrame, FrameColumn, FrameValues};

use super::rows::RunEnds;
use super::*;

fn frame() -> DataFrame {
    let numbers = |name: &str, unit: &str, values: &[f64]| FrameColumn {
        name: name.into(),
        unit: unit.into(),
        values: FrameValues::Numbers(values.iter().copied().map(Some).collect()),
    };
    let schemes = ["a", "a", "a", "b", "b", "a"];
    DataFrame::new(vec![
        numbers("run", "", &[0.0, 0.0, 0.0, 1.0, 1.0, 2.0]),
        FrameColumn {
            name: "scheme".into(),
            unit: String::new(),
            values: FrameValues::Texts(schemes.map(|s| Some(s.to_owned())).to_vec()),
        },
        numbers("seed", "", &[1.0, 1.0, 1.0, 1.0, 1.0, 2.0]),
        numbers("time_ps", "ps", &[0.0, 1e12, 2e12, 0.0, 1e12, 1e12]),
        numbers("cwnd", "bytes", &[10.0, 20.0, 60.0, 5.0, 7.0, 40.0]),
    ])
}

fn rows(text: &str) -> RowsMeasure {
    let ClaimMeasure::Rows(rows) = measure(text).unwrap() else { panic!("{text}") };
    rows
}

fn measure(text: &str) -> Result<ClaimMeasure, String> {
    let table: Table = format!("m = {text}").parse().unwrap();
    table["m"].clone().try_into().map_err(|e: toml::de::Error| e.to_string())
}

#[test]
fn rows_are_selected_by_text_value_and_range() {
    let of = |filter: &str, reduce: &str| {
        let text = format!(
            "{{ table = \"probes\", column = \"cwnd\", reduce = \"{reduce}\", where = {{ {filter} }} }}"
        );
        rows(&text).of_frame(&frame(), &RunEnds::new(), &[1, 2]).unwrap()
    };
    assert_eq!(of("scheme = \"a\"", "mean"), [Some(30.0), Some(40.0)]);
    assert_eq!(of("scheme = \"b\"", "last"), [Some(7.0), None]);
    assert_eq!(of("scheme = \"b\"", "count"), [Some(2.0), Some(0.0)]);
    assert_eq!(of("scheme = \"a\", time_ps = { from = \"1 s\" }", "min"), [Some(20.0), Some(40.0)]);
    assert_eq!(of("scheme = \"a\", time_ps = { to = \"999 ms\" }", "sum"), [Some(10.0), None]);
    assert_eq!(of("scheme = \"a\", cwnd = \"60 B\"", "count"), [Some(1.0), Some(0.0)]);
    assert_eq!(of("scheme = \"a\", cwnd = 20", "first"), [Some(20.0), None]);
    let sampled = rows(
        "{ table = \"probes\", column = \"cwnd\", reduce = \"count\", every = \"2 s\", \
         where = { scheme = \"a\" } }",
    );
    assert_eq!(
        sampled.of_frame(&frame(), &RunEnds::new(), &[1, 2]).unwrap(),
        [Some(2.0), Some(0.0)]
    );
}

#[test]
fn rows_of_two_runs_do_not_mix() {
    let all = rows("{ table = \"probes\", column = \"cwnd\", reduce = \"mean\" }");
    assert!(all.of_frame(&frame(), &RunEnds::new(), &[1]).unwrap_err().contains("several runs"));
}

#[test]
fn invalid_measures_are_rejected_with_the_reason() {
    let error = |text: &str| rows(text).of_frame(&frame(), &RunEnds::new(), &[1]).unwrap_err();
    let base = "table = \"probes\", reduce = \"mean\"";
    assert!(error(&format!("{{ {base}, column = \"none\" }}")).contains("no column `none`"));
    assert!(error(&format!("{{ {base}, column = \"scheme\" }}")).contains("no numbers"));
    let unit = format!("{{ {base}, column = \"cwnd\", where = {{ time_ps = \"3 kB\" }} }}");
    assert!(error(&unit).contains("`3 kB` is no value of a column in `ps`"));
    assert!(measure("{ ratio = [], scheme = 1 }").unwrap_err().contains("does not go with"));
    assert!(measure("{ ratio = [ { table = \"a\" } ] }").is_err());
    assert!(measure("{ table = \"a\", column = \"b\", reduce = \"guess\" }").is_err());
}

#[test]
fn reductions_are_correct() {
    let of = |reduce: Reduce| reduce.of((1..=10).map(f64::from).collect());
    for (reduce, value) in [
        (Reduce::Mean, 5.5),
        (Reduce::Median, 5.0),
        (Reduce::P95, 10.0),
        (Reduce::Min, 1.0),
        (Reduce::Max, 10.0),
        (Reduce::Span, 9.0),
    ] {
        assert_eq!(of(reduce), Some(value), "{reduce:?}");
    }
    assert!((of(Reduce::Sd).unwrap() - 3.027_650_354).abs() < 1e-8);
    assert!((of(Reduce::Jain).unwrap() - 55.0 * 55.0 / (10.0 * 385.0)).abs() < 1e-12);
    assert_eq!(Reduce::Mean.of(Vec::new()), None);
}

#[test]
fn measures_are_combined() {
    let part = "{ table = \"flows\", column = \"fct_ps\", reduce = \"mean\" }";
    assert!(matches!(
        measure(&format!("{{ ratio = [{part}, {part}] }}")),
        Ok(ClaimMeasure::Ratio(_))
    ));
    let nested = format!("{{ difference = [{part}, {{ sum = [{part}, {part}] }}] }}");
    assert!(matches!(measure(&nested), Ok(ClaimMeasure::Difference(_))));
}

#[test]
fn an_extreme_is_that_of_its_measures() {
    let part = "{ table = \"flows\", column = \"fct_ps\", reduce = \"mean\" }";
    let of = |name: &str| measure(&format!("{{ {name} = [{part}, {part}] }}"));
    for (name, extreme, wanted) in [
        ("smallest", Extreme::Smallest, -3.0),
        ("largest", Extreme::Largest, 2.0),
        ("largest-magnitude", Extreme::LargestMagnitude, 3.0),
    ] {
        let Ok(ClaimMeasure::Extreme(found, parts)) = of(name) else { panic!("{name}") };
        assert_eq!((found, parts.len()), (extreme, 2));
        assert!((extreme.of(-3.0, 2.0) - wanted).abs() < 1e-12);
    }
    assert!(measure("{ smallest = [] }").unwrap_err().contains("needs measures"));
    assert!(measure("{ largest = [], per = 2 }").unwrap_err().contains("does not go with"));
}

#[test]
fn a_metric_is_one_of_the_summary() {
    assert!(matches!(
        measure("{ metric = \"fct_ms.mean\", group = \"short\", scheme = \"dctcp\" }"),
        Ok(ClaimMeasure::Metric(_))
    ));
    let error = |text: &str| measure(text).unwrap_err();
    assert!(error("{ metric = \"fct\", group = \"short\" }").contains("there are fct_ms.mean"));
    assert!(error("{ metric = \"marks\", group = \"short\" }").contains("no metric `marks`"));
    assert!(error("{ metric = \"marks\" }").contains("of a `group`, of a `queue`"));
}

#[test]
fn an_even_rate_has_no_step_deviation() {
    assert_eq!(Reduce::StepSd.of(vec![0.0, 5.0, 10.0, 15.0]), Some(0.0));
    assert_eq!(Reduce::StepSd.of(vec![0.0, 4.0, 10.0]), Some(2.0_f64.sqrt()));
    assert_eq!(Reduce::MaxRise.of(vec![5.0, 7.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(Reduce::MaxRise.of(vec![5.0, 4.0]), Some(0.0));
}

#[test]
fn rates_over_time_are_a_measure() {
    let rates = "rates = \"converged\", group = \"pair\", every = \"1 ms\"";
    assert!(matches!(measure(&format!("{{ {rates}, within = 0.1 }}")), Ok(ClaimMeasure::Rates(_))));
    let error = |text: &str| measure(text).unwrap_err();
    assert!(error(&format!("{{ {rates} }}")).contains("need `within`"));
    let backwards = format!("{{ {rates}, within = 0.1, from = \"2 s\", to = \"1 s\" }}");
    assert!(error(&backwards).contains("before `to`"));
    let variation = "{ rates = \"variation\", group = \"pair\", every = \"1\" }";
    assert!(error(variation).contains("`every`"));
}

#[test]
fn a_class_and_queries_are_metrics_of_a_group() {
    let of = |more: &str| measure(&format!("{{ group = \"web\", {more} }}"));
    assert!(of("metric = \"slowdown.p99\", class = \"0 B-10 kB\"").is_ok());
    assert!(of("metric = \"timeout_fraction\"").is_ok());
    assert!(of("metric = \"timeout_fraction\", class = \"0 B-10 kB\"").is_err());
}

#[test]
fn classes_of_queues_buffer_pools_and_runs_have_metrics() {
    let of = |more: &str| measure(&format!("{{ {more} }}"));
    assert!(of("metric = \"link_down_drops\", queue = \"a->b\"").is_ok());
    assert!(of("metric = \"p99_packets\", queue = \"a->b\", class = \"urgent\"").is_ok());
    assert!(of("metric = \"link_down_drops\", queue = \"a->b\", class = \"urgent\"").is_err());
    assert!(of("metric = \"peak_fraction\", buffer-pool = \"leaf0.0\"").is_ok());
    assert!(of("metric = \"no_route_drops\"").is_ok());
    assert!(of("metric = \"no_route_drops\", group = \"web\"").is_err());
    let two = of("metric = \"marks\", queue = \"a->b\", buffer-pool = \"leaf0.0\"").unwrap_err();
    assert!(two.contains("of a `buffer-pool`"), "{two}");
}

#[test]
fn any_percentile_is_available() {
    let values: Vec<f64> = (1..=1000).map(f64::from).collect();
    assert_eq!(Reduce::Permille(975).of(values), Some(975.0));
    let rows = "{ table = \"flows\", column = \"fct_ps\", over = \"ideal_ps\", \
                reduce = { permille = 975 } }";
    let Ok(ClaimMeasure::Rows(rows)) = measure(rows) else { panic!("rows") };
    assert_eq!((rows.reduce, rows.over.as_deref()), (Reduce::Permille(975), Some("ideal_ps")));
}

#[test]
fn a_column_is_subtracted_row_by_row() {
    let text = "{ table = \"probes\", column = \"cwnd\", minus = \"time_ps\", per = 1, reduce = \"last\", \
                where = { scheme = \"b\" } }";
    assert_eq!(rows(text).of_frame(&frame(), &RunEnds::new(), &[1]).unwrap(), [Some(7.0 - 1e12)]);
    let error = measure(&text.replace("minus = ", "weight = ")).unwrap_err();
    assert!(error.contains("`weight` goes with"), "{error}");
}

#[test]
fn a_constant_is_added_after_unit_conversion() {
    let text = "{ table = \"probes\", column = \"cwnd\", per = 2, plus = 8, reduce = \"last\", \
                where = { scheme = \"b\" } }";
    let bare =
        rows(&text.replace("plus = 8, ", "")).of_frame(&frame(), &RunEnds::new(), &[1]).unwrap();
    let with = rows(text).of_frame(&frame(), &RunEnds::new(), &[1]).unwrap();
    assert_eq!((bare, with), (vec![Some(3.5)], vec![Some(11.5)]));
    // A deviation does not change with a constant.
    let error = measure(&text.replace("\"last\"", "\"sd\"")).unwrap_err();
    assert!(error.contains("`plus` goes with"), "{error}");
}

#[test]
fn a_histogram_is_weighted_by_its_counts() {
    let of = |reduce: Reduce| reduce.weighted(&[1.0, 2.0, 4.0], &[2.0, 1.0, 1.0]);
    assert_eq!(of(Reduce::Mean), Some(2.0));
    // 1, 1, 2 and 4: the squares add up to 6.
    assert_eq!(of(Reduce::Sd), Some(2.0_f64.sqrt()));
    assert_eq!(Reduce::Mean.weighted(&[1.0], &[0.0]), None);
    assert_eq!(Reduce::TotalVariation.of(vec![3.0, 5.0, 4.0, 4.0]), Some(3.0));
}

/// Nine flows that took 1 to 9 ms, and one censored at 100 ms that began `begun_ms` after the
/// first.
fn with_one_censored(begun_ms: f64, status: &str, size: Option<f64>) -> (DataFrame, RunEnds) {
    let column = |name: &str, unit: &str, values: Vec<Option<f64>>| FrameColumn {
        name: name.into(),
        unit: unit.into(),
        values: FrameValues::Numbers(values),
    };
    let all = |value: f64| vec![Some(value); 10];
    let with = |last: Option<f64>, mut values: Vec<Option<f64>>| {
        values[9] = last;
        values
    };
    let took = || (1..=10).map(|ms| Some(f64::from(ms) * 1e9)).collect();
    let mut states = vec![Some("complete".to_owned()); 10];
    states[9] = Some(status.to_owned());
    let frame = DataFrame::new(vec![
        column("run", "", all(3.0)),
        column("seed", "", all(1.0)),
        column("size_bytes", "bytes", with(size, all(1e6))),
        column("delivered_bytes", "bytes", all(1e6)),
        column("start_ps", "ps", with(Some(begun_ms * 1e9), all(0.0))),
        column("established_ps", "ps", with(None, all(1e8))),
        column("transfer_ps", "ps", with(None, took())),
        column("fct_ps", "ps", with(None, took())),
        FrameColumn {
            name: "status".into(),
            unit: String::new(),
            values: FrameValues::Texts(states),
        },
    ]);
    (frame, RunEnds::from([(3, 1e11)]))
}

#[test]
fn a_statistic_that_a_censored_flow_could_change_has_no_value() {
    let of = |reduce: &str, more: &str, (frame, ends): (DataFrame, RunEnds)| {
        let text = format!(
            "{{ table = \"flows\", column = \"fct_ps\", per = 1e9, reduce = \"{reduce}\"{more} }}"
        );
        rows(&text).of_frame(&frame, &ends, &[1]).unwrap()[0]
    };
    let size = Some(1e6);
    assert_eq!(of("mean", "", with_one_censored(50.0, "unfinished", size)), None);
    assert_eq!(of("max", "", with_one_censored(50.0, "unfinished", size)), None);
    assert_eq!(of("count", "", with_one_censored(50.0, "unfinished", size)), Some(10.0 / 1e9));
    assert_eq!(of("min", "", with_one_censored(50.0, "unfinished", size)), Some(1.0));
    let median = |frame| of("median", "", frame);
    assert_eq!(
        median(with_one_censored(50.0, "unfinished", size)),
        Some(5.0),
        "it took at least 50 ms"
    );
    assert_eq!(
        median(with_one_censored(98.0, "unfinished", size)),
        None,
        "or was one of the fast ones"
    );
    assert_eq!(median(with_one_censored(98.0, "failed", size)), Some(5.0), "it never completes");
    // A flow of unlimited size is excluded.
    assert_eq!(of("mean", "", with_one_censored(50.0, "unfinished", None)), Some(5.0));
    let transfer = rows("{ table = \"flows\", column = \"transfer_ps\", reduce = \"median\" }");
    let (frame, ends) = with_one_censored(0.0, "unfinished", size);
    assert_eq!(
        transfer.of_frame(&frame, &ends, &[1]),
        Ok(vec![None]),
        "its handshake was not over"
    );
    let early = ", where = { start_ps = { before-end = \"40 ms\" } }";
    assert_eq!(of("mean", early, with_one_censored(50.0, "unfinished", size)), None);
    assert_eq!(of("mean", early, with_one_censored(70.0, "unfinished", size)), Some(5.0));
    let rate = rows(
        "{ table = \"flows\", column = \"delivered_bytes\", over = \"fct_ps\", reduce = \"jain\" }",
    );
    let (frame, ends) = with_one_censored(50.0, "unfinished", size);
    assert_eq!(rate.of_frame(&frame, &ends, &[1]), Ok(vec![None]));
}

#[test]
fn before_end_needs_a_column_of_times() {
    let text = "{ table = \"flows\", column = \"fct_ps\", reduce = \"mean\", \
                where = { size_bytes = { before-end = \"1 s\" } } }";
    let (frame, ends) = with_one_censored(0.0, "unfinished", Some(1.0));
    let error = rows(text).of_frame(&frame, &ends, &[1]).unwrap_err();
    assert!(error.contains("`before-end` needs a column"), "{error}");
    // A misspelt range end is an error, not an unbounded range.
    assert!(measure(&text.replace("before-end", "before")).is_err());
}
