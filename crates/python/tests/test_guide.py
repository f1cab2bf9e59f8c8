"""The programs of docs/howto/python.md run in the order of the page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "python.md"
SCRIPT = Path(sys.executable).with_name("lowtide")


def programs() -> list[str]:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    # Blocks with prompts show errors.
    return [block for block in blocks if not block.startswith(">>>")]


def test_the_programs_of_the_guide_run(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    # The capture that the page reads.
    subprocess.run([SCRIPT, "-q", "run", "first-light", "-o", "out"], check=True)
    subprocess.run([SCRIPT, "-q", "pcap", "out", "--flow", "0", "--scheme", "dctcp", "-o", "x.pcapng"], check=True)
    names: dict[str, object] = {"__name__": "guide"}
    for number, program in enumerate(programs(), 1):
        exec(compile(program, f"program {number} of {PAGE.name}", "exec"), names)
    assert Path("f.pdf").read_bytes().startswith(b"%PDF")


def test_the_errors_of_the_guide_are_those_of_the_package() -> None:
    import lowtide as lt

    text = PAGE.read_text()
    shown = text[text.index("lowtide.errors.ScenarioError: ") :].split("```")[0].strip()
    with pytest.raises(lt.ScenarioError) as raised:
        lt.scenario("leaf-spine").set("switch.mark.kk", "65 pkt")
    assert shown == f"lowtide.errors.ScenarioError: {raised.value}".strip()
