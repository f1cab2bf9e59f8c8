//! Files of small figures of each kind, in the width of a column.

use lowtide_charts::{
    Axis, CellKind, Chart, ColorScale, Curve, CurveKind, Dot, Figure, GuideLine, HeatGrid, HeatMap,
    Lane, Panel, PlotSeries, RGBColor, SeriesKind, StackedPlot,
};
use resvg::usvg::{Group, Node, Options, Rect, Tree};

use crate::{Fonts, Format, Length, PaperStyle, TypesetError, parse_length, render};

/// The width of a column of two.
const COLUMN: f64 = 237.6;

fn length(points: f64) -> Length {
    parse_length(&format!("{points}pt")).unwrap()
}

fn style() -> PaperStyle {
    PaperStyle {
        width: length(COLUMN),
        height: None,
        font_size: length(8.0),
        title: false,
        grey: false,
        outlines: false,
        dpi: 300,
    }
}

fn points(shift: f64) -> Vec<Dot> {
    (0..200).map(|i| Dot::new(f64::from(i), 20.0 + shift + f64::from(i % 17))).collect()
}

/// Panels with long labels, two reference lines and a range of classes.
fn panels() -> Chart {
    let series = |style: usize, kind| PlotSeries {
        scheme: format!("scheme-{style}"),
        part: String::new(),
        style,
        kind,
        points: points(10.0 * style as f64),
    };
    let guide = |vertical| GuideLine { label: "K = 20".into(), at: 20.0, vertical };
    let panel = |title: &str, x: Axis, kind| Panel {
        title: title.into(),
        x,
        y: Axis::from_zero("Share of the time at or below", "share", [90.0].into_iter()),
        series: (0..3).map(|i| series(i, kind)).collect(),
        guide_lines: vec![guide(true), guide(false)],
        shade: Some((0.0, 10.0)),
    };
    let classes = ["0 B-10 kB", "10 kB-100 kB", "100 kB-1 MB", "1 MB-10 MB", "10 MB-"];
    let log = Axis::log("Completion time of the flows (ms)", "t", 0.5, 20_000.0);
    let classes = Axis::categorical("Flow size", "size", &classes.map(str::to_owned));
    Chart::Panels(Figure {
        id: "panels".into(),
        title: "A title that is longer than a column is wide, so that it has two lines".into(),
        caption: String::new(),
        legend: (0..6).map(|i| (format!("scheme-{i}"), i)).collect(),
        panels: vec![
            panel("", Axis::linear("Time (ms)", "t", 0.0, 200.0), SeriesKind::Trace),
            panel("All schemes", log, SeriesKind::Steps),
            panel("By size", classes, SeriesKind::Measured),
        ],
    })
}

fn lanes() -> Chart {
    let curve = |name, style, kind, right| Curve { name, style, kind, right, points: points(0.0) };
    let y = || Axis::from_zero("Rate (Mbit/s)", "rate", [60.0].into_iter());
    let lane = |title: &str, right: Option<Axis>| Lane {
        title: title.into(),
        y: y(),
        curves: vec![
            curve("throughput", 0, CurveKind::Steps, false),
            curve("retransmission", 1, CurveKind::Marks, false),
            curve("slow start threshold", 2, CurveKind::Thin, false),
            curve("queue", 3, CurveKind::Ranges, right.is_some()),
        ],
        right,
    };
    let queue = Axis::from_zero("Queue (packets)", "queue", [1000.0].into_iter());
    Chart::Lanes(StackedPlot {
        id: "lanes".into(),
        title: "One flow".into(),
        caption: String::new(),
        x: Axis::linear("Time (ms)", "t", 0.0, 200.0),
        lanes: vec![lane("Sequence", None), lane("Throughput and queue", Some(queue))],
    })
}

fn grids(scale: ColorScale, columns: usize, grids: usize) -> Chart {
    let names = |n: usize| (0..n).map(|i| format!("scheme-{i}")).collect::<Vec<_>>();
    let grid = HeatGrid {
        title: if grids > 1 { "next to dctcp".into() } else { String::new() },
        rows: names(3),
        columns: names(columns),
        cells: (0..3 * columns).map(|i| (i > 0).then_some(i as f64 / 30.0)).collect(),
        intervals: vec![None; 3 * columns],
    };
    Chart::Grids(HeatMap {
        id: "grids".into(),
        title: "Goodput of the pair (Mbit/s)".into(),
        caption: String::new(),
        axes: ["sender".into(), "receiver".into()],
        scale,
        grids: vec![grid; grids],
    })
}

fn kinds() -> ColorScale {
    let kind = |name, short, code, color| CellKind { name, short, code, color };
    ColorScale::Categorical(vec![
        kind("healthy", "ok", "ok", RGBColor(0x9a, 0xd8, 0xc3)),
        kind("blind-to-congestion", "blind", "bl", RGBColor(0xf0, 0xc2, 0x4b)),
    ])
}

fn all() -> Vec<Chart> {
    let cold = ColorScale::Sequential { low: 0.0, high: 1.0, warm: false };
    vec![
        panels(),
        lanes(),
        grids(cold.clone(), 4, 1),
        grids(ColorScale::Diverging, 3, 4),
        grids(kinds(), 5, 2),
        grids(cold, 20, 1),
    ]
}

fn svg(chart: &Chart, style: &PaperStyle) -> String {
    let fonts = Fonts::built_in().unwrap();
    String::from_utf8(render(chart, style, &fonts, Format::Svg).unwrap()).unwrap()
}

/// Returns the boxes of all texts, in pixels of SVG.
fn text_boxes(group: &Group, out: &mut Vec<(String, Rect)>) {
    for node in group.children() {
        match node {
            Node::Group(group) => text_boxes(group, out),
            Node::Text(text) => {
                let words: String =
                    text.chunks().iter().map(resvg::usvg::TextChunk::text).collect();
                out.push((words, text.abs_bounding_box()));
            }
            _ => {}
        }
    }
}

#[test]
fn texts_are_within_the_sheet_and_do_not_overlap() {
    let fonts = Fonts::built_in().unwrap();
    for (width, title) in [(COLUMN, false), (COLUMN, true), (504.0, true)] {
        let style = PaperStyle { width: length(width), title, ..style() };
        for chart in all() {
            let options = Options { fontdb: fonts.database(), ..Options::default() };
            let tree = Tree::from_str(&svg(&chart, &style), &options).unwrap();
            let mut texts = Vec::new();
            text_boxes(tree.root(), &mut texts);
            assert!(texts.len() > 8, "{}", chart.id());
            let (right, bottom) = (tree.size().width() + 0.5, tree.size().height() + 0.5);
            for (i, (text, a)) in texts.iter().enumerate() {
                let inside = a.left() > -0.5 && a.top() > -0.5;
                let inside = inside && a.right() < right && a.bottom() < bottom;
                assert!(inside, "{}, {width}pt: `{text}` at {a:?}", chart.id());
                for (other, b) in &texts[..i] {
                    // Boxes have the whole height of a line, which letters do not fill.
                    let over = |a: [f32; 2], b: [f32; 2]| a[1].min(b[1]) - a[0].max(b[0]);
                    let x = over([a.left(), a.right()], [b.left(), b.right()]);
                    let y = over([a.top(), a.bottom()], [b.top(), b.bottom()]);
                    assert!(x < 1.5 || y < 1.5, "{}: `{text}` on `{other}`", chart.id());
                }
            }
        }
    }
}

#[test]
fn all_text_has_the_size_asked_for() {
    for (chart, points) in all().iter().zip([8.0, 7.0, 9.0, 8.0, 10.0, 8.0]) {
        let style = PaperStyle { font_size: length(points), ..style() };
        let svg = svg(chart, &style);
        let view = svg.split("viewBox=\"0 0 ").nth(1).unwrap().split(' ').next().unwrap();
        let scale = COLUMN / view.parse::<f64>().unwrap();
        let sizes = svg.split("font-size=\"").skip(1).map(|s| s.split('"').next().unwrap());
        for size in sizes {
            let size = size.parse::<f64>().unwrap() * scale;
            assert!((size - points).abs() < 0.01, "{}: {size}", chart.id());
        }
    }
}

/// Returns whether a drawing has a colour that is not a grey.
fn is_chromatic(svg: &str) -> bool {
    let body = svg.split("</style>").last().unwrap();
    let colors = body.split("=\"#").skip(1).filter_map(|s| s.get(..6));
    let mut rgb = colors.filter(|s| s.chars().all(|c| c.is_ascii_hexdigit()));
    rgb.any(|c| c[..2] != c[2..4] || c[2..4] != c[4..])
}

#[test]
fn grey_figures_have_no_colour_and_distinguish_series_by_dashes() {
    for chart in all() {
        assert!(is_chromatic(&svg(&chart, &style())), "{}", chart.id());
        let grey = svg(&chart, &PaperStyle { grey: true, ..style() });
        assert!(!is_chromatic(&grey), "{}", chart.id());
    }
    // Each kind of cell has its own grey.
    let grey = svg(&grids(kinds(), 5, 1), &PaperStyle { grey: true, ..style() });
    let fills = grey.split("<rect").filter_map(|r| r.split("fill=\"").nth(1)?.get(..7));
    let fills: std::collections::BTreeSet<&str> = fills.collect();
    assert!(fills.len() >= 3, "{fills:?}");
}

#[test]
fn a_pdf_has_the_size_and_its_fonts() {
    let fonts = Fonts::built_in().unwrap();
    for chart in all() {
        let height = Some(length(400.0));
        let pdf = render(&chart, &PaperStyle { height, ..style() }, &fonts, Format::Pdf).unwrap();
        let again = render(&chart, &PaperStyle { height, ..style() }, &fonts, Format::Pdf).unwrap();
        assert!(pdf == again, "equal figures give equal bytes");
        let document = lopdf::Document::load_mem(&pdf).unwrap();
        let page = document.get_pages()[&1];
        let page = document.get_dictionary(page).unwrap();
        let sides = page.get(b"MediaBox").and_then(lopdf::Object::as_array).unwrap();
        let sides: Vec<f32> = sides.iter().map(|s| s.as_float().unwrap()).collect();
        for (side, wanted) in sides.iter().zip([0.0, 0.0, COLUMN as f32, 400.0]) {
            assert!((side - wanted).abs() < 0.01, "{sides:?}");
        }
        let mut embedded = 0;
        for object in document.objects.values() {
            let Ok(font) = object.as_dict() else { continue };
            let subtype = font.get(b"Subtype").and_then(lopdf::Object::as_name);
            assert_ne!(subtype.ok(), Some(&b"Image"[..]), "no pictures");
            if font.has_type(b"FontDescriptor") {
                let name = font.get(b"FontName").and_then(lopdf::Object::as_name).unwrap();
                assert!(String::from_utf8_lossy(name).contains("+LiberationSans"));
                assert!(font.has(b"FontFile2") || font.has(b"FontFile3"));
                embedded += 1;
            }
        }
        assert!(embedded >= 1, "{}", chart.id());
        // 400 kB of font are reduced to the used glyphs.
        assert!(pdf.len() < 150_000, "{}: {}", chart.id(), pdf.len());
        let outlines = PaperStyle { outlines: true, ..style() };
        let pdf = render(&chart, &outlines, &fonts, Format::Pdf).unwrap();
        let document = lopdf::Document::load_mem(&pdf).unwrap();
        let fonts = document.objects.values().filter_map(|o| o.as_dict().ok());
        assert_eq!(fonts.filter(|d| d.has_type(b"Font")).count(), 0, "{}", chart.id());
    }
}

#[test]
fn a_png_has_width_times_dpi_pixels() {
    let fonts = Fonts::built_in().unwrap();
    for (dpi, width) in [(100, 330), (300, 990)] {
        let height = Some(length(360.0));
        let style = PaperStyle { height, dpi, ..style() };
        let file = render(&panels(), &style, &fonts, Format::Png).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&file)).read_info().unwrap();
        let info = reader.info();
        assert_eq!((info.width, info.height), (width, dpi * 5));
        let per_meter = info.pixel_dims.unwrap().xppu;
        assert_eq!((f64::from(per_meter) * 0.0254).round() as u32, dpi);
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let dark = pixels.chunks(3).filter(|p| p.iter().all(|v| *v < 0x60)).count();
        assert!(dark > pixels.len() / 3 / 500, "{dark} pixels are dark");
    }
}

#[test]
fn an_svg_contains_its_font_or_outlines() {
    for chart in all() {
        let text = svg(&chart, &style());
        assert!(text.contains("@font-face{font-family:\"Liberation Sans\";font-weight:normal"));
        assert!(text.contains("<text") && !text.contains("http://") || text.contains("www.w3.org"));
        let bold = text.contains("font-weight=\"bold\"");
        assert_eq!(text.matches("@font-face").count(), 1 + usize::from(bold), "{}", chart.id());
        let outlines = svg(&chart, &PaperStyle { outlines: true, ..style() });
        assert!(!outlines.contains("<text") && !outlines.contains("@font-face"));
        assert!(outlines.matches("<path").count() > 20);
    }
}

#[test]
fn sheets_that_are_too_small_are_refused() {
    let fonts = Fonts::built_in().unwrap();
    let refuse = |chart: &Chart, style: PaperStyle| -> String {
        let error: TypesetError = render(chart, &style, &fonts, Format::Pdf).unwrap_err();
        error.to_string()
    };
    let points = length;
    for (width, chart) in [(100.0, panels()), (120.0, lanes()), (120.0, grids(kinds(), 24, 1))] {
        let why = refuse(&chart, PaperStyle { width: points(width), ..style() });
        assert!(why.contains("its width must be at least"), "{why}");
        // The named width is enough.
        let least = why.split("at least ").nth(1).unwrap().split("pt").next().unwrap();
        let width = points(least.parse().unwrap());
        assert!(
            render(&chart, &PaperStyle { width, ..style() }, &fonts, Format::Pdf).is_ok(),
            "{why}"
        );
    }
    for chart in all() {
        let why = refuse(&chart, PaperStyle { height: Some(points(72.0)), ..style() });
        assert!(why.contains("its height must be at least"), "{why}");
        let least = why.split("at least ").nth(1).unwrap().split("pt").next().unwrap();
        let height = Some(points(least.parse().unwrap()));
        let fits = render(&chart, &PaperStyle { height, ..style() }, &fonts, Format::Svg);
        assert!(fits.is_ok(), "{why}");
    }
    let why = refuse(&panels(), PaperStyle { width: points(71.0), ..style() });
    assert_eq!(why, "the width 71pt is not between 72pt and 3600pt");
    let why = refuse(&panels(), PaperStyle { font_size: points(3.0), ..style() });
    assert!(why.contains("font size 3pt"), "{why}");
    let large = PaperStyle { width: points(3000.0), dpi: 2400, ..style() };
    let why = render(&panels(), &large, &fonts, Format::Png).unwrap_err().to_string();
    assert!(why.contains("pixels are more than"), "{why}");
}
