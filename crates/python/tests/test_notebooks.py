"""The notebooks of `examples/notebooks` run from top to bottom."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[3] / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks_with_their_outputs() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["add_a_control", "choose_k", "reproduce_a_figure"]
    for path in NOTEBOOKS:
        code = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
        numbers = [cell.execution_count for cell in code]
        assert numbers == list(range(1, len(code) + 1)), f"{path.name} was not run as a whole"
        assert path.stat().st_size < 500_000, path.name


@pytest.mark.notebook
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    # An exception of a cell ends the execution with its traceback.
    NotebookClient(
        nbformat.read(path, 4), timeout=900, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
