"""The behaviour of a transport, from a capture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import _arguments
from ._command import answer, options
from ._rows import Rows
from .errors import RequestError

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
    def findings(self) -> Rows:
        """Findings in plain words, a row each: `flow` (number of the connection), `severity`,
        `kind`, `from` (sender of the data), `from_ns` and `to_ns` (time in the capture, ns), `what`
        and what it usually `means`."""
        rows = [
            {"flow": connection["flow"], **finding}
            for connection in self.connections
            for finding in connection["findings"]
        ]
        return Rows(rows, {"from_ns": "ns", "to_ns": "ns"}, _FINDING)

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
    capture = _arguments.path("path", path)
    if isinstance(flows, str | int):
        raise RequestError(
            f"flows={flows!r} is one connection where a list belongs", f"write flows=[{flows!r}]"
        )
    listed = _arguments.items("flows", flows, '["10.0.0.1:80"]')
    words = [f"--flow={flow}" for flow in listed]
    if gain is not None:
        gain = _arguments.number("gain", gain, "use a number above 0, at most 1, as gain=0.0625")
    if rto_min is not None:
        rto_min = _arguments.text("rto_min", rto_min, '"200 ms"')
    words += options({"gain": gain, "rto_min": rto_min})
    return Analysis(answer("analyze", *words, "--", capture, renamed={"flow": "flows"}))
