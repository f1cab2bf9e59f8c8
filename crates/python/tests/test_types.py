"""Types: mypy --strict and pyright judge programs that use the installed package."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import typed_snippets
from test_guide import PAGE, blocks

SNIPPETS = [name for name in dir(typed_snippets) if name.startswith("snippet_")]
NOTEBOOKS = Path(__file__).parents[3] / "examples" / "notebooks"


def mypy(path: Path) -> dict[int, str]:
    """The errors of mypy by line."""
    words = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--config-file="]
    done = subprocess.run(
        [*words, path], check=False, cwd=path.parent, capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(r"^[^:\n]+:(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    return {int(line): text for line, text in found}


def pyright(path: Path) -> dict[int, str]:
    """The errors of pyright by line."""
    words = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*words, path], check=False, cwd=path.parent, capture_output=True, text=True
    )
    answer = json.loads(done.stdout)
    assert answer["summary"]["filesAnalyzed"] == 1
    errors = [d for d in answer["generalDiagnostics"] if d["severity"] == "error"]
    return {d["range"]["start"]["line"] + 1: d["message"] for d in errors}


CHECKERS = [pytest.param(check, id=check.__name__) for check in (mypy, pyright)]


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_snippet_runs(name, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    getattr(typed_snippets, name)()


@pytest.mark.parametrize("check", CHECKERS)
def test_the_checkers_find_the_mistakes_and_nothing_else(check, tmp_path) -> None:
    assert len(SNIPPETS) == 40
    source = Path(typed_snippets.__file__)
    path = tmp_path / "snippets.py"
    shutil.copy(source, path)
    lines = source.read_text().splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if "  # WRONG" in line}
    errors = check(path)
    assert set(errors) == wrong and len(wrong) > 10, errors


@pytest.mark.parametrize("check", CHECKERS)
def test_the_guide_has_types(check, tmp_path) -> None:
    path = tmp_path / "guide.py"
    path.write_text("\n".join(blocks(PAGE)))
    assert check(path) == {}


@pytest.mark.parametrize("check", CHECKERS)
@pytest.mark.parametrize("name", ["add_a_control", "choose_k", "reproduce_a_figure"])
def test_the_notebooks_have_types(check, name, tmp_path) -> None:
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4)
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    path = tmp_path / f"{name}.py"
    path.write_text("\n\n".join(cells))
    assert check(path) == {}
