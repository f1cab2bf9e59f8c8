"""The behaviour of a transport, from a capture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._command import answer, options
from ._frame import frame

if TYPE_CHECKING:
    import pandas

_FINDING = ["flow", "severity", "kind", "from", "from_ns", "to_ns", "what", "means"]


class Analysis:
    """What a capture shows of its connections."""

    def __init__(self, details: dict[str, Any]) -> None:
        """Use `lt.analyze`."""
        self.details: dict[str, Any] = details
        """The whole answer of `lowtide --json analyze` (docs/reference/json.md)."""

    @property
    def connections(self) -> list[dict[str, Any]]:
        """One mapping per connection, those with the most severe findings first."""
        flows: list[dict[str, Any]] = self.details["flows"]
        return flows

    @property
    def findings(self) -> pandas.DataFrame | list[dict[str, Any]]:
        """Findings in plain words, a row each: `flow` (number of the connection), `severity`,
        `kind`, `from` (sender of the data), `from_ns` and `to_ns` (time in the capture, ns), `what`
        and what it usually `means`. Without pandas a list of mappings."""
        rows = [
            {"flow": connection["flow"], **finding}
            for connection in self.connections
            for finding in connection["findings"]
        ]
        return frame(rows, {"from_ns": "ns", "to_ns": "ns"}, _FINDING)

    def __repr__(self) -> str:
        count = sum(len(connection["findings"]) for connection in self.connections)
        connections = len(self.connections)
        file = self.details["file"]
        return f"<lowtide.Analysis {file}: {connections} connections, {count} findings>"


def analyze(
    path: str | os.PathLike[str],
    *,
    flows: Sequence[str | int] = (),
    gain: float | None = None,
    rto_min: str | None = None,
) -> Analysis:
    """Analyses a capture (pcap or pcapng), as `lowtide analyze` does, in another process.

    flows: connections: numbers, addresses, ports, or "10.0.0.1:80"; default: all
    gain: g of DCTCP's alpha, above 0 and at most 1; default: 1/16
    rto_min: minimum retransmission timeout of the senders, as "200 ms"

    Raises `RequestError` for a file that cannot be opened or a connection that is not in it,
    `RunError` for a file that is no capture.
    """
    words = [f"--flow={flow}" for flow in flows]
    words += options({"gain": gain, "rto_min": rto_min})
    return Analysis(answer("analyze", *words, "--", os.fspath(path)))
