//! Writes the output of `lowtide bench --json` into the table of `docs/explanation/performance.md`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use serde::Deserialize;

const PAGE: &str = "docs/explanation/performance.md";
const BEGIN: &str = "<!-- figures: begin -->\n";
const END: &str = "<!-- figures: end -->\n";

#[derive(Deserialize)]
struct BenchOutput {
    version: String,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    runs: u32,
    hops: u64,
    cpu_s: f64,
    cpu_s_range: [f64; 2],
    hops_per_cpu_s: f64,
    ns_per_hop: f64,
    ns_per_segment: f64,
    events_per_hop: f64,
    bytes_per_flow: Option<u64>,
    bytes_per_port: Option<u64>,
    peak_rss_mib: Option<f64>,
}

/// Writes the results of `file` into the page.
pub(crate) fn run(root: &Path, file: &str) -> ExitCode {
    match write(&root.join(PAGE), file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(page: &Path, file: &str) -> Result<(), String> {
    let read =
        |path: &Path| std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let printed: BenchOutput = serde_json::from_str(&read(Path::new(file))?)
        .map_err(|e| format!("{file} is not output of `lowtide bench --json`: {e}"))?;
    // Linux's `model name`; unknown on other systems.
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|l| l.strip_prefix("model name")?.split_once(": "));
    let cpu = cpu.map_or("an unknown CPU", |(_, name)| name);
    let text = replaced(&read(page)?, &table(&printed, cpu))
        .ok_or_else(|| format!("{PAGE} lacks the lines that enclose the figures"))?;
    let growing = page.with_extension("md.tmp");
    std::fs::write(&growing, text)
        .and_then(|()| std::fs::rename(&growing, page))
        .map_err(|e| format!("{}: {e}", page.display()))
}

/// `page` with `figures` between the two markers.
fn replaced(page: &str, figures: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{figures}{END}{after}"))
}

fn table(printed: &BenchOutput, cpu: &str) -> String {
    let mut out = format!("lowtide {} on {cpu}.\n\n", printed.version);
    out.push_str(
        "| benchmark | million hops | CPU s, median of n (least, most) | million hops per CPU s | ns per hop \
         | ns per segment | events per hop | B per flow | B per port | peak MiB |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for r in &printed.rows {
        let [least, most] = r.cpu_s_range;
        let whole = |n: Option<u64>| n.map_or_else(|| "–".to_owned(), |n| n.to_string());
        let peak = r.peak_rss_mib.map_or_else(|| "–".to_owned(), |m| format!("{m:.0}"));
        let _ = writeln!(
            out,
            "| {} | {:.2} | {:.2} of {} ({least:.2}, {most:.2}) | **{:.1}** | {:.0} | {:.0} | {:.2} | {} | {} \
             | {peak} |",
            r.name,
            r.hops as f64 / 1e6,
            r.cpu_s,
            r.runs,
            r.hops_per_cpu_s / 1e6,
            r.ns_per_hop,
            r.ns_per_segment,
            r.events_per_hop,
            whole(r.bytes_per_flow),
            whole(r.bytes_per_port),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_figures_are_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (page, file) = (dir.path().join("page.md"), dir.path().join("bench.json"));
        std::fs::write(&page, format!("# A\n{BEGIN}old\n{END}end\n")).unwrap();
        let row = r#"{"name": "perm-128", "runs": 5, "hops": 8924743, "events": 1, "cpu_s": 0.75,
            "cpu_s_range": [0.7, 0.8], "hops_per_cpu_s": 11899657, "ns_per_hop": 84.04, "ns_per_segment": 400,
            "events_per_hop": 1.02, "bytes_per_flow": null, "bytes_per_port": 512, "peak_rss_mib": 20.2}"#;
        std::fs::write(&file, format!(r#"{{"version": "1.2.3", "rows": [{row}]}}"#)).unwrap();
        let file = file.to_str().unwrap();
        write(&page, file).unwrap();
        let text = std::fs::read_to_string(&page).unwrap();
        let line = "| perm-128 | 8.92 | 0.75 of 5 (0.70, 0.80) | **11.9** | 84 | 400 | 1.02 | – | 512 | 20 |\n";
        assert!(text.contains(line) && !text.contains("old"), "{text}");
        assert!(
            text.starts_with("# A\n") && text.ends_with("end\n") && text.contains("lowtide 1.2.3")
        );
        write(&page, file).unwrap();
        assert_eq!(std::fs::read_to_string(&page).unwrap(), text);
        std::fs::write(&page, "# A\n").unwrap();
        assert!(write(&page, file).unwrap_err().contains("lacks the lines"));
    }
}
