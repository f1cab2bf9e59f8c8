//! Drawn curves deviate from the curves of all points by less than a pixel.

use lowtide_charts::{
    Axis, BoundedSeries, Chart, Curve, CurveKind, Dot, Figure, FigureFiles, Lane, Panel,
    PlotSeries, Scale, SeriesKind, Sheet, StackedPlot,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::raster::{Place, difference, staircase};

/// Drawn pixels per pixel of a page.
const SUBPIXELS: i64 = 4;
/// Colours of the first two styles.
const COLORS: [&str; 2] = ["#0072B2", "#E69F00"];
/// Columns of a reduced curve per pixel of the smallest visible part of a page.
const COLUMNS_PER_PIXEL: f64 = 3.0;

/// Returns the share of an axis at which a value is.
fn share(axis: &Axis, value: f64) -> f64 {
    let of = |v: f64| if axis.scale == Scale::Log { v.max(axis.low).ln() } else { v };
    (of(value) - of(axis.low)) / (of(axis.high) - of(axis.low))
}

/// Returns the corners of each line of the longest path of a colour in a drawing.
fn longest_path(svg: &str, color: &str) -> Vec<Place> {
    let paths = svg.lines().filter(|l| l.starts_with("<path") && l.contains(color));
    let data = paths.filter_map(|l| l.split(" d=\"").nth(1)?.split('"').next());
    let data = data.max_by_key(|d| d.len()).expect("a path");
    let mut numbers = Vec::new();
    let mut text = String::new();
    for c in data.chars().chain([' ']) {
        if c.is_ascii_digit() {
            text.push(c);
            continue;
        }
        if !text.is_empty() {
            numbers.push(text.parse::<f64>().expect("a number"));
        }
        text = if c == '-' { "-".to_owned() } else { String::new() };
        assert!(c != 'm', "one line: {data}");
    }
    let mut at = (0.0, 0.0);
    let step = |pair: &[f64]| {
        at = (at.0 + pair[0], at.1 + pair[1]);
        at
    };
    numbers.chunks(2).map(step).collect()
}

fn series(style: usize, kind: SeriesKind, points: Vec<Dot>) -> PlotSeries {
    PlotSeries { scheme: style.to_string(), part: String::new(), style, kind, points }
}

fn figure([x, y]: [&Axis; 2], kind: SeriesKind, points: &[Dot]) -> Figure {
    // The second line shows where the corners of the plot are drawn.
    let corners = vec![Dot::new(x.low, y.low), Dot::new(x.high, y.high)];
    let panel = Panel {
        title: String::new(),
        x: x.clone(),
        y: y.clone(),
        series: vec![series(0, kind, points.to_vec()), series(1, SeriesKind::Trace, corners)],
        guide_lines: Vec::new(),
        shade: None,
    };
    let (id, title, caption) = ("f".to_owned(), String::new(), String::new());
    Figure { id, title, caption, legend: Vec::new(), panels: vec![panel] }
}

/// The corners of the curve of all points; a distribution rises from zero.
fn full(kind: SeriesKind, points: &[Dot]) -> Vec<Place> {
    let places: Vec<Place> = points.iter().map(|d| (d.x, d.y)).collect();
    if kind != SeriesKind::Steps {
        return places;
    }
    let rise = places.first().map(|(x, _)| (*x, 0.0));
    staircase(&rise.into_iter().chain(places).collect::<Vec<_>>())
}

/// Compares the drawing with all points.
fn deviation(
    svg: &str,
    [x, y]: [&Axis; 2],
    corners: &[Place],
    most: i64,
) -> Option<(&'static str, i64, i64)> {
    let frame = longest_path(svg, COLORS[1]);
    let (from, to) = (frame[0], frame[frame.len() - 1]);
    let place = |(a, b): &Place| {
        let along = |at: f64, from: f64, to: f64| from + (to - from) * at;
        (along(share(x, *a), from.0, to.0) - from.0, along(share(y, *b), from.1, to.1) - to.1)
    };
    let all: Vec<Place> = corners.iter().map(place).collect();
    let drawn = longest_path(svg, COLORS[0]);
    let drawn: Vec<Place> = drawn.iter().map(|(a, b)| (a - from.0, b - to.1)).collect();
    let size = ((to.0 - from.0) as i64 + 1, (from.1 - to.1) as i64 + 1);
    difference(&all, &drawn, size, most)
}

/// Compares the curve of a page, as far as it may be enlarged, with all points.
fn page_deviation(
    json: &str,
    [x, y]: [&Axis; 2],
    kind: SeriesKind,
    points: &[Dot],
) -> Option<(&'static str, i64, i64)> {
    let form: Value = serde_json::from_str(json).expect("JSON");
    let columns = form["columns"].as_f64();
    let pixels = columns.map_or(4000.0, |columns| columns / COLUMNS_PER_PIXEL);
    let size = (pixels as i64 + 1, 300);
    let place = |(a, b): &Place| (share(x, *a) * pixels, (1.0 - share(y, *b)) * 299.0);
    let listed = form["panels"][0]["series"][0]["points"].as_array().expect("points");
    let listed: Vec<Place> = listed
        .iter()
        .map(|point| (point[0].as_f64().expect("x"), point[1].as_f64().expect("y")))
        .collect();
    let drawn = if kind == SeriesKind::Steps { staircase(&listed) } else { listed };
    let all: Vec<Place> = full(kind, points).iter().map(place).collect();
    let drawn: Vec<Place> = drawn.iter().map(place).collect();
    // Less than one pixel from each: their cells are at most neighbours.
    difference(&all, &drawn, size, 1)
}

fn axes(log: bool, points: &[Dot]) -> [Axis; 2] {
    let most = points.iter().map(|d| d.x).fold(1.0, f64::max);
    let x = if log {
        Axis::log("x", "x", 0.5, most * 1.2)
    } else {
        Axis::linear("x", "x", points[0].x, most)
    };
    [x, Axis::from_zero("y", "y", points.iter().map(|d| d.y))]
}

/// Values that are close together in places and far apart in others, in order.
fn spread_values(most: usize) -> impl Strategy<Value = Vec<f64>> {
    let value = prop_oneof![
        4 => (0_u32..40).prop_map(f64::from),
        2 => 0.0..1000.0_f64,
        1 => (0.0..4.0_f64).prop_map(|e| 10_f64.powf(e)),
        1 => Just(977.0),
    ];
    prop::collection::vec(value, 1..most)
}

fn distribution(mut values: Vec<f64>, copies: usize) -> Vec<Dot> {
    values.sort_by(f64::total_cmp);
    let all = (values.len() + copies) as f64;
    // Most of the weight is at the lowest value, as of an empty queue.
    let dot = |(i, x): (usize, &f64)| Dot::new(*x, (i + 1 + copies) as f64 / all);
    values.iter().enumerate().map(dot).collect()
}

fn check(kind: SeriesKind, log: bool, points: &[Dot]) {
    let [x, y] = axes(log, points);
    let axes = [&x, &y];
    let drawn = FigureFiles::of(&figure(axes, kind, points)).expect("a figure");
    let corners = full(kind, points);
    // Rounding moves a corner by half a drawn pixel, a raster by one: together less than a pixel.
    assert_eq!(deviation(&drawn.svg, axes, &corners, SUBPIXELS - 1), None, "SVG");
    assert_eq!(page_deviation(&drawn.json, axes, kind, points), None, "JSON");
    let rows: Vec<Dot> = drawn
        .csv
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|fields| fields[1] == "0")
        .map(|fields| {
            let value = |i: usize| fields[i].parse().expect("a number");
            Dot::new(value(3), value(4))
        })
        .collect();
    assert_eq!(rows, points, "the file has every point");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_distribution_is_drawn_as_it_is(
        values in spread_values(2000), copies in 0_usize..3000, log in any::<bool>(),
    ) {
        check(SeriesKind::Steps, log, &distribution(values, copies));
    }

    #[test]
    fn a_trace_is_drawn_as_it_is(values in spread_values(2000), log in any::<bool>()) {
        let mut time = 0.0;
        let dot = |(i, y): (usize, f64)| {
            time += [0.1, 0.1, 0.1, 7.0][i * 7 % 13 % 4];
            Dot::new(time, y)
        };
        let points: Vec<Dot> = values.into_iter().enumerate().map(dot).collect();
        check(SeriesKind::Trace, log, &points);
    }
}

/// A curve of `count` points with steps, ramps, bursts and a gap.
fn long_curve(count: u32) -> Vec<Dot> {
    let value = |i: u32| match i * 20 / count {
        0..=3 => 40.0 + f64::from(i % 7),
        4..=9 => f64::from(i) / f64::from(count) * 100.0,
        10 => f64::from(i.wrapping_mul(2_654_435_761) % 97),
        11..=14 => 0.0,
        _ => 55.0 + 20.0 * f64::from(i.is_multiple_of(911)),
    };
    let after = |i: u32| f64::from(i) + if i > count / 2 { f64::from(count) / 8.0 } else { 0.0 };
    (0..count).map(|i| Dot::new(after(i), value(i))).collect()
}

#[test]
fn a_long_curve_is_reduced_on_a_page_and_complete_in_its_file() {
    for (kind, log) in [(SeriesKind::Trace, false), (SeriesKind::Trace, true)] {
        let points = long_curve(60_000);
        check(kind, log, &points);
        let [x, y] = axes(log, &points);
        let json = FigureFiles::of(&figure([&x, &y], kind, &points)).unwrap().json;
        let form: Value = serde_json::from_str(&json).unwrap();
        assert!(form["columns"].is_number(), "it is reduced");
        let listed = form["panels"][0]["series"][0]["points"].as_array().unwrap().len();
        assert!(listed < 40_000, "{listed}");
    }
    let values = (0..60_000).map(|i| f64::from(i % 1000) + f64::from(i % 7) / 10.0).collect();
    check(SeriesKind::Steps, true, &distribution(values, 9_000));
}

#[test]
fn a_late_time_axis_keeps_its_resolution() {
    // Seven digits of these times would be tenths of the axis.
    let points: Vec<Dot> =
        (0..500).map(|i| Dot::new(60.0 + f64::from(i) * 2e-8, f64::from(i % 50))).collect();
    check(SeriesKind::Trace, false, &points);
}

#[test]
fn the_steps_of_a_lane_are_drawn_as_they_are() {
    let points = long_curve(20_000);
    let [x, y] = axes(false, &points);
    let curve = |style, points| Curve {
        name: "curve",
        style,
        kind: CurveKind::Steps,
        right: false,
        points,
    };
    let frame = vec![Dot::new(x.low, y.low), Dot::new(x.high, y.low), Dot::new(x.high, y.high)];
    let lane = Lane {
        title: String::new(),
        y: y.clone(),
        right: None,
        curves: vec![curve(0, points.clone()), curve(1, frame)],
    };
    let (id, title, caption) = ("f".to_owned(), String::new(), String::new());
    let chart = Chart::Lanes(StackedPlot { id, title, caption, x: x.clone(), lanes: vec![lane] });
    let places: Vec<Place> = points.iter().map(|d| (d.x, d.y)).collect();
    let corners = staircase(&places);
    let svg = chart.to_svg().unwrap();
    assert_eq!(deviation(&svg, [&x, &y], &corners, SUBPIXELS - 1), None, "page");
    let measure = |text: &str, _: bool| text.len() as f64 * 0.5;
    let sheet = Sheet {
        width: 240.0,
        height: None,
        font_size: 8.0,
        family: "f",
        measure: &measure,
        title: false,
        grey: false,
    };
    // On a sheet the curve of every drawn pixel is complete, at any resolution.
    let svg = chart.to_svg_on(&sheet).unwrap();
    assert_eq!(deviation(&svg, [&x, &y], &corners, 1), None, "sheet");
}

#[test]
fn a_series_in_bounded_memory_is_the_curve_of_all_points() {
    let points = long_curve(200_000);
    let mut series = BoundedSeries::new(4096);
    for dot in &points {
        series.push(dot.x as u64 * 12_345, dot.y);
    }
    assert!(series.is_reduced());
    let most = points.last().unwrap().x * 12_345.0;
    let place = |(x, y): Place| (x / most * 1500.0, 300.0 - y * 2.0);
    let all: Vec<Place> = points.iter().map(|d| (d.x * 12_345.0, d.y)).collect();
    let kept: Vec<Place> = series.points().iter().map(|(x, y)| (*x as f64, *y)).collect();
    let places = |points: &[Place]| staircase(points).into_iter().map(place).collect::<Vec<_>>();
    assert_eq!(difference(&places(&all), &places(&kept), (1501, 301), 1), None);
    assert!(kept.len() <= 4 * 4096);
    let listed: Vec<Place> = series.listed(256).iter().map(|(x, y)| (*x as f64, *y)).collect();
    assert!(listed.len() <= 256);
    let narrow = |points: &[Place]| {
        let at = |(x, y): Place| (x / most * 63.0, 300.0 - y * 2.0);
        staircase(points).into_iter().map(at).collect::<Vec<_>>()
    };
    assert_eq!(difference(&narrow(&all), &narrow(&listed), (64, 301), 1), None);
}

#[test]
fn extremes_alone_are_not_the_curve() {
    // The comparison must notice a distribution without its first step.
    let values = (0..5000).map(|i| f64::from(i % 300)).collect();
    let points = distribution(values, 200_000);
    let [x, y] = axes(false, &points);
    let thin: Vec<Dot> = points.iter().skip(100).step_by(50).copied().collect();
    let drawn = FigureFiles::of(&figure([&x, &y], SeriesKind::Steps, &thin)).unwrap();
    let corners = full(SeriesKind::Steps, &points);
    assert!(deviation(&drawn.svg, [&x, &y], &corners, SUBPIXELS - 1).is_some());
    assert!(page_deviation(&drawn.json, [&x, &y], SeriesKind::Steps, &points).is_some());
}
