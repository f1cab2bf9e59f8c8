"""Tests without lowtide and peers: units, tables, ratios, agreement, jobs for peers."""

from __future__ import annotations

import json
import re
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

import compare
import files
import lowtide
import measure
import page
import peers
import scenarios
from model import Flow, Job, Link, PeerError, Row, Scenario, Tolerance
from peers import ns3
from units import BYTES, PACKETS, TIME_PS, whole

SCENARIO = Scenario(
    "s", "Title", "s.toml", {}, {}, "a->b", [Tolerance("goodput_gbps", share=0.02)]
)
ROW = Row(
    scenario="s",
    tool="lowtide",
    version="1",
    cpu_s=2.0,
    peak_rss_mib=10.0,
    simulated_s=0.5,
    hops=1000,
    events=1000,
    goodput_gbps=9.0,
    mean_queue_packets=60.0,
    max_queue_packets=80,
    marks=5,
    drops=0,
    rtos=0,
)


def resolved() -> dict[str, Any]:
    """Returns the part of a resolved scenario that is read."""
    sender = {
        "cc": "dctcp",
        "initial-window": 10,
        "rto-initial": "1 s",
        "rto-min": "200 ms",
        "rto-granularity": "4 ms",
        "send-buffer": "4194304 B",
        "dctcp": {"shift-g": 4},
    }
    receiver = {
        "ack": "dctcp",
        "delack-segments": 2,
        "delack-timer": "40 ms",
        "receive-buffer": "16777216 B",
    }
    connection = {"mtu": 1500, "timestamps": True, "sack": True}
    host = {
        "count": 1,
        "sender": sender,
        "receiver": receiver,
        "connection": connection,
    }
    return {
        "run": {"duration": "500 ms", "warmup": "100 ms", "end": "duration"},
        "topology": {
            "link-delay": "16 us",
            "bottleneck-delay": "16 us",
            "framing": "ethernet",
        },
        "switch": {
            "buffer": "4 MB",
            "count-in-service": False,
            "mark": {"kind": "step", "k": "65 pkt"},
        },
        "hosts": {"left": host, "right": host},
    }


def job(changed: dict[str, Any] | None = None) -> Job:
    links = [
        Link("left.0", "a", 10, 7),
        Link("right.0", "b", 10, 7),
        Link("a", "b", 5, 7),
    ]
    flows = [Flow("left.0", "right.0", None, 3)]
    return Job(
        SCENARIO, changed or resolved(), ["left.0", "right.0"], links, flows, 1448
    )


class Units(unittest.TestCase):
    def test_quantities_are_whole_numbers_of_the_smallest_unit(self) -> None:
        self.assertEqual(whole("16 us", TIME_PS), 16_000_000)
        self.assertEqual(whole("1.5 ns", TIME_PS), 1500)
        self.assertEqual(whole("4 MB", BYTES), 4_000_000)
        self.assertEqual(whole("65 pkt", PACKETS), 65)

    def test_invalid_quantities_are_refused(self) -> None:
        for value in ("16", "16 kB", "off", 16, None, "0.5 ps", "-1 s"):
            with self.assertRaises(PeerError, msg=repr(value)):
                whole(value, TIME_PS)


class Medians(unittest.TestCase):
    def test_time_is_the_median_and_memory_the_most(self) -> None:
        rows = [
            replace(ROW, cpu_s=s, peak_rss_mib=m)
            for s, m in ((3.0, 9.0), (1.0, 12.0), (2.0, 8.0))
        ]
        row = page.median(rows)
        self.assertEqual((row.cpu_s, row.cpu_s_range, row.runs), (2.0, (1.0, 3.0), 3))
        self.assertEqual(row.peak_rss_mib, 12.0)

    def test_results_that_vary_from_run_to_run_are_an_error(self) -> None:
        with self.assertRaisesRegex(PeerError, "marks was 5, then 6"):
            page.median([ROW, replace(ROW, marks=6)])


class Ratios(unittest.TestCase):
    def test_times_ours(self) -> None:
        times = page.ratio(ROW, replace(ROW, cpu_s=30.0, hops=1500, peak_rss_mib=40.0))
        self.assertEqual(
            (times.cpu, times.cpu_per_hop, times.memory), (15.0, 10.0, 4.0)
        )

    def test_agreement_within_a_share_and_within_a_width(self) -> None:
        share, width = (
            Tolerance("goodput_gbps", share=0.02),
            Tolerance("mean_queue_packets", absolute=2.0),
        )
        self.assertTrue(
            page.agreement(share, ROW, replace(ROW, goodput_gbps=9.17)).agrees
        )
        self.assertFalse(
            page.agreement(share, ROW, replace(ROW, goodput_gbps=8.8)).agrees
        )
        self.assertTrue(
            page.agreement(width, ROW, replace(ROW, mean_queue_packets=58.0)).agrees
        )
        self.assertFalse(
            page.agreement(width, ROW, replace(ROW, mean_queue_packets=62.1)).agrees
        )

    def test_a_bound_needs_a_width(self) -> None:
        with self.assertRaises(PeerError):
            page.agreement(Tolerance("goodput_gbps"), ROW, ROW)


class Page(unittest.TestCase):
    def setUp(self) -> None:
        peer = replace(ROW, tool="ns-3", version="3", cpu_s=200.0, goodput_gbps=8.0)
        matched = replace(ROW, tool=page.matched_name("ns-3"))
        self.compared = [page.Comparison(SCENARIO, ROW, [peer], [matched])]

    def test_every_row_of_a_table_has_as_many_cells_as_its_head(self) -> None:
        for sized in (False, True):
            c = self.compared[0]
            first = replace(c.ours, fct_mean_ms=1.5) if sized else c.ours
            text = page.results(replace(c, ours=first))
            widths = {line.count("|") for line in text.splitlines()}
            self.assertEqual(len(widths), 1, text)
            self.assertEqual("FCT mean ms" in text, sized)
            self.assertEqual(len(text.splitlines()), 2 + 3)

    def test_the_page_names_differences_and_reported_results(self) -> None:
        text = page.markdown(self.compared, [ns3.PEER], {"machine": "m"})
        self.assertIn(
            "| s | ns-3 | goodput_gbps | 9 | 8 | -1 (-11.11 %) | 2 % | **differs** |",
            text,
        )
        self.assertIn("takes 100 times the CPU time", text)
        self.assertIn("## Reported of ns-3, not measured here", text)
        self.assertIn("about 175,000 packet-hops", text)
        self.assertIn("`disturbance.host-jitter = 0 s`", text)

    def test_the_json_has_the_same_rows(self) -> None:
        answer = json.loads(json.dumps(page.to_json(self.compared, {})))
        self.assertEqual(
            [r["tool"] for r in answer["rows"]],
            ["lowtide", "ns-3", "lowtide set like ns-3"],
        )
        self.assertEqual(answer["rows"][1]["hops_per_cpu_s"], 5.0)
        self.assertEqual(answer["rows"][1]["times_ours"]["cpu"], 100.0)
        self.assertFalse(answer["agreement"][0]["agrees"])


class Tables(unittest.TestCase):
    """Data read from lowtide's run."""

    def test_two_rows_are_one_link(self) -> None:
        rows = [
            {"name": n, "rate_bps": "10"} for n in ("x.0->s", "s->x.0", "s->t", "t->s")
        ]
        self.assertEqual(
            lowtide.links(rows, 7), [Link("x.0", "s", 10, 7), Link("s", "t", 10, 7)]
        )

    def test_a_link_of_two_rates_is_refused(self) -> None:
        rows = [{"name": "x->s", "rate_bps": "10"}, {"name": "s->x", "rate_bps": "11"}]
        with self.assertRaises(PeerError):
            lowtide.links(rows, 7)

    def test_delays_must_be_equal(self) -> None:
        self.assertEqual(lowtide.link_delay_ps(resolved()["topology"]), 16_000_000)
        with self.assertRaises(PeerError):
            lowtide.link_delay_ps({"link-delay": "1 us", "core-delay": "2 us"})

    def test_hosts_have_the_names_of_the_tables(self) -> None:
        self.assertEqual(
            lowtide.host_names({"hosts": {"a": {"count": 2}, "b": {"count": 1}}}),
            ["a.0", "a.1", "b.0"],
        )

    def test_a_flow_without_end_has_no_size(self) -> None:
        row = {"src": "a", "dst": "b", "size_bytes": "", "start_ps": "5"}
        self.assertEqual(lowtide.flow(row), Flow("a", "b", None, 5))
        self.assertEqual(lowtide.flow({**row, "size_bytes": "9"}).size_bytes, 9)

    def test_the_row_has_the_named_queue_and_all_marks(self) -> None:
        def queue(name: str, mean: float, marks: int) -> dict[str, Any]:
            kept = {"max_packets": 9, "overflow_drops": 0, "aqm_drops": 0}
            return {"name": name, "mean_packets": mean, "marks": marks, **kept}

        group = {"unfinished": 0, "failed": 0, "goodput_mbps": 9400.0, "rto_count": 0}
        run: dict[str, Any] = {
            "ended_ms": 500.0,
            "groups": [{**group, "fct_ms": {"mean": None, "p99": None}}],
            "queues": [queue("a->b", 4.0, 3), queue("b->a", 0.0, 1)],
        }
        usage = measure.ResourceUsage("", 1.0, 2.0, 10.0)
        counts = {"hops": "100", "events": "101"}
        row = lowtide.row(SCENARIO, "1", run, counts, usage)
        self.assertEqual(
            (row.mean_queue_packets, row.marks, row.goodput_gbps), (4.0, 4, 9.4)
        )
        everywhere = lowtide.row(replace(SCENARIO, queue=None), "1", run, counts, usage)
        self.assertEqual(everywhere.mean_queue_packets, 2.0)
        with self.assertRaises(PeerError):
            lowtide.row(replace(SCENARIO, queue="c->d"), "1", run, counts, usage)
        run["groups"][0]["unfinished"] = 1
        with self.assertRaises(PeerError):
            lowtide.row(SCENARIO, "1", run, counts, usage)


class Ns3(unittest.TestCase):
    def test_a_job_has_all_settings_of_the_program(self) -> None:
        lines = ns3.translate(job()).splitlines()
        for line in (
            "set k_packets 65",
            "set buffer_packets 2666",
            "set delack_timer_ps 40000000000",
            "set mss_bytes 1448",
            "host left.0",
            "link a b 5 7",
            "watch a b",
            "flow left.0 right.0 0 3",
        ):
            self.assertIn(line, lines)
        given = {line.split()[1] for line in lines if line.startswith("set ")}
        program = "".join(p.read_text(encoding="utf-8") for p in ns3.SOURCES.iterdir())
        needed = set(re.findall(r'\b(?:Whole|time|count)\("(\w+)"\)', program))
        self.assertEqual(given, needed)

    def test_without_a_queue_all_ports_of_switches_are_watched(self) -> None:
        everywhere = replace(job(), scenario=replace(SCENARIO, queue=None))
        watched = [("a", "left.0"), ("b", "right.0"), ("a", "b"), ("b", "a")]
        self.assertEqual(ns3.watched(everywhere), watched)

    def test_unsupported_settings_are_refused(self) -> None:
        for path, value in (
            ("switch.mark.kind", "red"),
            ("switch.count-in-service", True),
            ("switch.buffer", "unlimited"),
            ("topology.framing", "ip"),
            ("run.end", "idle"),
        ):
            changed = resolved()
            *folders, key = path.split(".")
            table = changed
            for folder in folders:
                table = table[folder]
            table[key] = value
            with self.assertRaises(PeerError, msg=path):
                ns3.translate(job(changed))

    def test_hosts_of_two_kinds_are_refused(self) -> None:
        changed = resolved()
        right = changed["hosts"]["right"]
        changed["hosts"]["right"] = {
            **right,
            "receiver": {**right["receiver"], "delack-segments": 1},
        }
        with self.assertRaises(PeerError):
            ns3.translate(job(changed))

    def test_flows_of_both_kinds_are_refused(self) -> None:
        both = [Flow("left.0", "right.0", None, 3), Flow("left.0", "right.0", 10, 3)]
        with self.assertRaises(PeerError):
            ns3.translate(replace(job(), flows=both))


class Running(unittest.TestCase):
    def test_registered_names_are_found(self) -> None:
        known = compare.registered(scenarios, "SCENARIO")
        self.assertEqual([s.name for s in known], ["dumbbell", "fat-tree"])
        self.assertEqual(compare.chosen(known, ["fat-tree"], "scenario"), known[1:])
        self.assertEqual(compare.chosen(known, [], "scenario"), known)
        self.assertEqual([p.name for p in compare.registered(peers, "PEER")], ["ns-3"])
        with self.assertRaisesRegex(PeerError, "dumbbell, fat-tree"):
            compare.chosen(known, ["dumbell"], "scenario")
        for scenario in known:
            self.assertTrue((compare.ROOT / scenario.file).is_file(), scenario.file)

    def test_a_missing_binary_says_what_to_do(self) -> None:
        with self.assertRaisesRegex(PeerError, "cargo build --release"):
            lowtide.Lowtide.find(None, Path("/nowhere"))

    def test_a_failed_command_shows_its_last_lines(self) -> None:
        with self.assertRaisesRegex(PeerError, r"(?s)failed \(3\).*no such thing"):
            measure.run(["sh", "-c", "echo no such thing >&2; exit 3"])
        with self.assertRaisesRegex(PeerError, "cannot run"):
            measure.run(["/nowhere/at/all"])

    def test_a_command_is_measured(self) -> None:
        usage = measure.run(
            ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done"]
        )
        self.assertEqual(usage.stdout, "done\n")
        self.assertGreater(usage.cpu_s, 0)
        self.assertGreater(usage.peak_rss_mib, 0)

    def test_writes_are_atomic(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "new" / "file"
            files.write(path, "one")
            with self.assertRaises(UnicodeEncodeError):
                files.write(path, "two \ud800")
            self.assertEqual(path.read_text(encoding="utf-8"), "one")
            self.assertEqual([p.name for p in path.parent.iterdir()], ["file"])


if __name__ == "__main__":
    unittest.main()
