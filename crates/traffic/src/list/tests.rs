use std::fmt::Write as _;

use lowtide_units::Rate;

use super::*;
use crate::testing::context;
use crate::workload::HostInfo;

type Read = fn(&str, &str, &HostLookup<'_>) -> Result<Vec<ListedFlow>, FileError>;

fn good(read: Read, text: &str) -> Vec<(u32, u32, u64, u64)> {
    let ctx = context(16, 1);
    let rows = read("f", text, &HostLookup::new(&ctx, &[], &[])).unwrap();
    rows.iter().map(|r| (r.src, r.dst, r.size.as_u64(), r.start.as_ps())).collect()
}

/// Each text must be rejected with a message that starts with the given one.
fn bad(read: Read, cases: &[(&str, &str)]) {
    let ctx = context(16, 1);
    for (text, want) in cases {
        let error = read("f", text, &HostLookup::new(&ctx, &[], &[])).unwrap_err().to_string();
        assert!(error.starts_with(want), "{text:?}\n  gives {error}\n  not   {want}");
    }
}

#[test]
fn csv_takes_columns_in_any_order_units_names_and_quotes() {
    let text = "\u{feff}id, Start ,dst,note,src,bytes\r\n\
        # a comment\r\n\
        1,0.25,1,\"a, b\",0,20000\r\n\
        \r\n\
        2,250 ms,\"h.3\",,h.15,20 kB\r\n\
        3,1e-6,2,x,1,1500.0,extra";
    let ms = 250_000_000_000;
    let want = [(0, 1, 20_000, ms), (15, 3, 20_000, ms), (1, 2, 1_500, 1_000_000)];
    assert_eq!(good(csv, text), want);
}

#[test]
fn csv_errors_have_line_and_column() {
    let h = "src,dst,bytes,start\n";
    let row = |row: &str| format!("{h}0,1,5,0\n{row}\n");
    let rows = [
        ("0,1,5,-1", "f:3:7: `-1` is negative; write seconds"),
        ("0,1,5,soon", "f:3:7: `soon` is not a time"),
        ("0,1,5,never", "f:3:7: `never` is not a time"),
        ("0,1,5,", "f:3:7: a time is missing"),
        ("0,1,5", "f:3: the line ends before its column `start`"),
        ("0,1,0,0", "f:3:5: a flow of zero bytes"),
        ("0,1,-5,0", "f:3:5: `-5` is negative"),
        (
            "0, x,5,0",
            "f:3:4: there is no host `x`; write a number from 0 to 15, or a name as `h.0`",
        ),
        ("16,1,5,0", "f:3:1: there is no host `16`"),
        ("-1,1,5,0", "f:3:1: there is no host `-1`"),
        ("1,h.1,5,0", "f:3:3: `1` sends to itself"),
        ("0,\"1,5,0", "f:3:3: a quote is not closed"),
        ("0,99999999999999999999,5,0", "f:3:3: there is no host"),
    ];
    for (text, want) in rows {
        bad(csv, &[(&row(text), want)]);
    }
    bad(
        csv,
        &[
            ("", "f:1: the file is empty; begin with a header: `src,dst,bytes,start`"),
            ("0,1,5,0\n", "f:1: no column `src` in the header `0`, `1`, `5`, `0`"),
            ("src,dst,size,start\n", "f:1: no column `bytes`"),
            ("src,dst,bytes,start,src\n", "f:1:21: the column `src` appears twice"),
            (h, "f:1: no flows below the header"),
        ],
    );
}

#[test]
fn hosts_are_limited_to_from_and_to() {
    let ctx = context(16, 1);
    let hosts = HostLookup::new(&ctx, &[0, 1], &[2]);
    let read = |row: &str| csv("f", &format!("src,dst,bytes,start\n{row}"), &hosts);
    assert_eq!(read("1,2,5,0").unwrap().len(), 1);
    assert!(read("3,2,5,0").unwrap_err().message.contains("not among the hosts of `from`"));
    assert!(read("0,3,5,0").unwrap_err().message.contains("not among the hosts of `to`"));
}

#[test]
fn hpcc_files_are_read_up_to_their_flow_count() {
    let text = "2\n2 1 3 100 200000 2\n3 1 3 100 150000 2.000000001\n4 1 3 1 1 2\n\nFirst line: # of flows\n";
    let want = [(2, 1, 200_000, 2 * PS_PER_SECOND), (3, 1, 150_000, 2 * PS_PER_SECOND + 1_000)];
    assert_eq!(good(hpcc, text), want);
}

#[test]
fn hpcc_errors_are_reported() {
    bad(
        hpcc,
        &[
            ("", "f:1: the file is empty; begin with the number of flows"),
            ("0\n", "f:1:1: a file of no flows"),
            ("two\n", "f:1:1: `two` is not a number of flows"),
            ("2 1 3 100 200000 2\n", "f:1:3: `1` is one field too many"),
            ("2\n2 1 3 100 5 2\n", "f:2: 1 flows, but the first line says 2"),
            ("1\n2 1 3 100 5\n", "f:2: 5 fields, expected 6; write `src dst pg dport"),
            ("1\n2 2 3 100 5 2\n", "f:2:3: `2` sends to itself"),
            ("1\n2 1 3 100 0 2\n", "f:2:11: a flow of zero bytes"),
            ("1\n2 1 3 100 5 -2\n", "f:2:13: `-2` is negative"),
            ("2\n2 1 3 100 5 2\n2 1 4 100 5 2\n", "f:3:5: a second priority group, `4`"),
            ("1\n2 77 3 100 5 2\n", "f:2:3: there is no host `77`"),
        ],
    );
}

#[test]
fn htsim_matrices_are_read() {
    let text = "Nodes 16\nConnections 2\n\n# one\n1->0 id 1 start 0 size 2000000\n\
        2->4 start 1000.000000 size 7\n";
    assert_eq!(good(htsim, text), [(1, 0, 2_000_000, 0), (2, 4, 7, 1_000)]);
}

#[test]
fn htsim_errors_and_unsupported_keywords_are_reported() {
    let row = |row: &str| format!("Nodes 8\nConnections 1\n{row}\n");
    let rows = [
        ("1->0 start 0 size 0", "f:3:19: a flow of zero bytes"),
        ("1->0 start 0.500 size 5", "f:3:12: `0.500` has a fraction: microseconds"),
        ("1->0 start -4 size 5", "f:3:12: `-4` is negative"),
        ("1->0 size 5", "f:3: a connection without `start`"),
        ("1->0 start 0", "f:3: a connection without `size`"),
        ("1->0 start", "f:3:6: `start` without a number"),
        ("1->0 id 1 trigger 1 size 5", "f:3:11: `trigger` is not supported"),
        ("1->0 start 0 size 5 send_done_trigger 1", "f:3:21: `send_done_trigger` is not supported"),
        ("1->0 start 0 size 5 prio 1", "f:3:21: `prio` is not supported"),
        ("1->9 start 0 size 5", "f:3:4: node `9` is not below `Nodes 8`"),
        ("1->1 start 0 size 5", "f:3:4: `1` sends to itself"),
        ("trigger id 1 oneshot", "f:3:1: `trigger` is not supported"),
        ("Failures 2", "f:3:1: `Failures` is not supported"),
        ("hello", "f:3:1: `hello` is not a line of a connection matrix"),
        ("", "f:3: 0 connections, but `Connections` says 1"),
    ];
    for (text, want) in rows {
        bad(htsim, &[(&row(text), want)]);
    }
    bad(
        htsim,
        &[
            ("", "f:1: no line `Connections m`"),
            ("1->0 start 0 size 5\n", "f:1: a connection before `Nodes`"),
            ("Nodes 99\nConnections 1\n1->50 start 0 size 5\n", "f:3:4: there is no host `50`"),
        ],
    );
}

#[test]
fn a_hundred_thousand_flows_stay_in_order() {
    let fact = |i| HostInfo { name: format!("h.{i}"), rate: Rate::from_gbps(10), rack: 0 };
    let ctx = WorkloadContext { hosts: (0..1_000).map(fact).collect(), ..context(0, 1) };
    let mut text = String::from("start,src,dst,bytes\n");
    for i in 0..100_000_u32 {
        writeln!(text, "0.{i:06},{},{},{}", i % 1_000, (i + 1) % 1_000, i + 1).unwrap();
    }
    let rows = csv("f", &text, &HostLookup::new(&ctx, &[], &[])).unwrap();
    assert_eq!(rows.len(), 100_000);
    let last = ListedFlow {
        src: 999,
        dst: 0,
        size: Bytes::new(100_000),
        start: Instant::from_ps(99_999 * 1_000_000),
    };
    assert_eq!(rows[99_999], last);
    assert!(rows.is_sorted_by_key(|r| r.start));
}
