"""The programs of the pages run: Python and SQL."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "howto" / "python.md"
TABLES = DOCS / "howto" / "tables.md"
SWEEPS = DOCS / "howto" / "sweeps.md"
TUTORIAL = DOCS / "tutorial" / "3-own-scheme.md"
SCRIPT = Path(sys.executable).with_name("lowtide")


def blocks(page: Path, language: str = "python") -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    # Blocks with prompts show errors.
    return [block for block in found if not block.startswith(">>>")]


def run_blocks(page: Path) -> None:
    names: dict[str, object] = {"__name__": "guide"}
    for number, program in enumerate(blocks(page), 1):
        exec(compile(program, f"program {number} of {page.name}", "exec"), names)  # noqa: S102 - programs of the page


def test_the_programs_of_the_guide_run(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    # The capture that the page reads.
    subprocess.run([SCRIPT, "-q", "run", "first-light", "-o", "out"], check=True)
    subprocess.run(
        [SCRIPT, "-q", "pcap", "out", "--flow", "0", "--scheme", "dctcp", "-o", "x.pcapng"],
        check=True,
    )
    run_blocks(PAGE)
    assert Path("f.pdf").read_bytes().startswith(b"%PDF")


def test_the_programs_and_queries_of_the_page_on_tables_run(tmp_path, monkeypatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    arguments = ["run", "queue-buildup", "--seeds", "1", "-o", "out"]
    subprocess.run([SCRIPT, "-q", *arguments], check=True)
    run_blocks(TABLES)
    (queries,) = blocks(TABLES, "sql")
    answers = [duckdb.sql(query).fetchall() for query in queries.split(";\n") if query.strip()]
    assert len(answers) == 4
    assert all(answers), answers


def test_the_program_of_the_page_on_sweeps_runs(tmp_path) -> None:
    (program,) = blocks(SWEEPS)
    file = tmp_path / "sweep.py"
    # Fewer seeds, for the time of the test.
    file.write_text(program.replace("seeds=20", "seeds=2"))
    subprocess.run([sys.executable, file], cwd=tmp_path, check=True)
    assert (tmp_path / "runs" / "k" / "manifest.json").exists()


def test_the_control_of_the_tutorial_is_that_in_rust(tmp_path) -> None:
    (program,) = blocks(TUTORIAL)
    file = tmp_path / "capped.py"
    file.write_text(program)
    done = subprocess.run(
        [sys.executable, file], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    shown = blocks(TUTORIAL, "text")[-1]
    assert done.stdout == shown
    # The transcript of the command in Rust, which another test runs, has the digest too.
    (console,) = [
        block for block in blocks(TUTORIAL, "console") if "compare.schemes=dctcp" in block
    ]
    digest = shown.splitlines()[-1]
    assert digest.startswith("digest ")
    assert digest in console.splitlines()


def test_the_errors_of_the_guide_are_those_of_the_package() -> None:
    import lowtide as lt

    text = PAGE.read_text()
    shown = text[text.index("lowtide.errors.ScenarioError: ") :].split("```")[0].strip()
    with pytest.raises(lt.ScenarioError) as raised:
        lt.scenario("leaf-spine").set("switch.mark.kk", "65 pkt")
    assert shown == f"lowtide.errors.ScenarioError: {raised.value}".strip()
