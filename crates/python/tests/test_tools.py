"""Captures, papers and advice: answers of the command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import lowtide as lt
import pytest

SCRIPT = Path(sys.executable).with_name("lowtide")


def test_a_capture_is_analysed(tmp_path) -> None:
    lt.scenario("queue-buildup").run(1, out=tmp_path / "out", schemes=["dctcp"])
    capture = tmp_path / "c.pcapng"
    words = ["pcap", str(tmp_path / "out"), "--flow", "0", "-o", str(capture)]
    subprocess.run([SCRIPT, *words], check=True, capture_output=True)
    analysis = lt.analyze(capture)
    assert len(analysis.connections) == 1 and analysis.connections[0]["flow"] == 0
    wanted = [finding["what"] for finding in analysis.connections[0]["findings"]]
    findings = analysis.findings
    assert findings.pandas().attrs["units"]["from_ns"] == "ns"
    assert [finding["what"] for finding in findings] == wanted
    assert findings.columns[:3] == ["flow", "severity", "kind"]
    with pytest.raises(lt.RequestError, match="cannot open"):
        lt.analyze(tmp_path / "absent.pcapng")
    with pytest.raises(lt.RunError):
        lt.analyze(__file__)


def test_claims_of_a_paper_are_judged(tmp_path) -> None:
    shares = []
    found = lt.reproduce(
        "dctcp-fig19",
        quick=True,
        out=tmp_path / "papers",
        progress=lambda share, text: shares.append((share, text)),
    )
    assert all(0.0 <= share <= 1.0 for share, _ in shares) and "dctcp-fig19" in shares[0][1]
    assert {claim["verdict"] for claim in found.claims} <= {
        "reproduced",
        "direction",
        "undecided",
        "not-reproduced",
    }
    assert len(found.results) == 1 and found.results[0].figures
    assert (tmp_path / "papers" / "reproduction.html").is_file()
    with pytest.raises(lt.RequestError, match="dctcp-fig1"):
        lt.reproduce("dctcp-fig01")


def test_advice_for_a_small_fabric(tmp_path) -> None:
    advice = lt.advise(racks=2, hosts_per_rack=4, incast=4, flows=200, budget=1)
    assert {"leaf-host", "leaf-spine"} <= set(advice.k_bytes)
    assert [row["k_bytes"] for row in advice.classes] == list(advice.k_bytes.values())
    assert "least" in {row["name"] for row in advice.candidates}
    advised = advice.scenario.check()
    assert advised.hosts == 8
    assert advice.svg.startswith("<svg") and "<svg" in advice._repr_html_()
    assert advice.save_figure(tmp_path / "knee.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(lt.RequestError, match="hosts="):
        lt.advise(hosts="fast")
    with pytest.raises(lt.RequestError, match="no argument colour="):
        lt.advise(colour="red")


def test_free_threaded_python_is_refused_by_name() -> None:
    program = "import sys; sys.version += ' free-threading build'; import lowtide"
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "lowtide does not support free-threaded Python (3.13t, 3.14t)" in done.stderr
