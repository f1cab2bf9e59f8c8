"""Hook of mkdocs: the notebooks of examples/notebooks are pages of the site, with their outputs."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
SOURCES = "https://github.com/lowtide/lowtide/blob/main/"
# Places of outputs in a page, which are filled after its text has become HTML.
_PLACE = "<p>OUTPUT-{}</p>"
_outputs: dict[str, list[str]] = {}


def on_files(files: Any, config: Any) -> Any:
    """Adds a page per notebook."""
    from mkdocs.structure.files import File

    for path in sorted(FOLDER.glob("*.ipynb")):
        uri = f"notebooks/{path.stem}.md"
        text, _outputs[uri] = page(json.loads(path.read_text()))
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to notebooks and source files of the repository become links to their pages."""
    up = "../" * page.file.src_uri.count("/")
    markdown = re.sub(
        r"\]\((?:\.\./)+examples/notebooks/(\w+)\.ipynb\)", rf"]({up}notebooks/\1.md)", markdown
    )
    # Source files are not part of the site.
    return re.sub(r"\]\((?:\.\./)+(crates/[\w./-]+)\)", rf"]({SOURCES}\1)", markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Fills in the outputs of the cells."""
    for number, output in enumerate(_outputs.get(page.file.src_uri, [])):
        html = html.replace(_PLACE.format(number), output)
    return html


def page(notebook: dict[str, Any]) -> tuple[str, list[str]]:
    """Returns the Markdown of a notebook, and its outputs as HTML."""
    parts: list[str] = []
    outputs: list[str] = []
    for cell in notebook["cells"]:
        source = _joined(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            parts.append(f"OUTPUT-{len(outputs)}")
            outputs.append(_html(output))
    return "\n\n".join(parts) + "\n", outputs


def _html(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    for kind in ("image/svg+xml", "text/html"):
        if kind in data:
            return f'<div class="output">{_joined(data[kind])}</div>'
    if "image/png" in data:
        return (
            f'<img alt="output" src="data:image/png;base64,{_joined(data["image/png"]).strip()}">'
        )
    text = _joined(data.get("text/plain", output.get("text", "")))
    return f"<pre>{escape(text)}</pre>"


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)
