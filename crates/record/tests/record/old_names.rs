//! A directory of the version before, which had other names of tables, columns and fields. It was
//! written by `lowtide run link-fails.toml`.

use std::path::Path;

use lowtide_record::{FrameValues, RunDir, TimingReport};
use lowtide_rows::StallReason;

fn open() -> RunDir {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/version-2");
    let (dir, manifest) = RunDir::open(&root).expect("old results");
    assert_eq!(manifest.schema, "lowtide.manifest/2");
    dir
}

#[test]
fn rows_have_the_values_of_the_old_columns() {
    let dir = open();
    assert_eq!(dir.damage().len(), 0);
    let tables = dir.reader().unwrap().take(0).unwrap().unwrap();
    assert_eq!((tables.run.counts.link_down_drops, tables.run.counts.no_route_drops), (3, 11));
    assert_eq!(tables.flows[1].ecn_counters.unwrap().data_segs_in_after_warmup, 10);
    assert_eq!(tables.flows[1].blocked_on, Some(StallReason::Rto));
    assert_eq!(tables.flows[1].ecn_requested, "rfc3168");
    assert_eq!(tables.flows[1].srtt_quantised_ns, Some(82_635));
    assert_eq!(tables.buffer_pools.len(), 1);
    assert_eq!(tables.queues.iter().map(|q| q.losses.link_down_drops).sum::<u64>(), 3);
}

#[test]
fn frames_and_text_have_the_present_names() {
    let dir = open();
    let frame = dir.frame("buffer_pools", &["run", "buffer_pool"]).unwrap();
    let number = &frame.column("buffer_pool").unwrap().values;
    assert_eq!(*number, FrameValues::Numbers(vec![Some(0.0)]));
    for name in ["buffer_pools", "memories"] {
        let table = dir.text_table(name).unwrap();
        assert!(table.columns().iter().any(|c| c.name == "buffer_pool"), "{name}");
    }
}

#[test]
fn old_fields_of_the_timing_are_read() {
    let new = TimingReport { late_packets: 7, steal_ms: 2.5, ..TimingReport::default() };
    let text = serde_json::to_string(&new).unwrap();
    let old = text.replace("late_packets", "behind").replace("steal_ms", "stolen_ms");
    assert_ne!(old, text);
    assert_eq!(serde_json::from_str::<TimingReport>(&old).unwrap(), new);
}
