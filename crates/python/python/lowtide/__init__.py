"""lowtide: the data-centre transport workbench, from Python.

    import lowtide as lt

    s = lt.scenario("leaf-spine").set("switch.mark.k", "65 pkt")
    r = s.run(seeds=10, over={"switch.mark.k": ["20 pkt", "65 pkt"]}, schemes=["cubic", "dctcp"])
    print(r.verdict)
    r.flows.pandas()                           # units in .attrs["units"]
    r.slowdown(by="size", q=[.5, .99]).pandas()    # percentiles with 95 % intervals
    r.compare("cubic", "dctcp")                    # paired by seed
    r.figure("queue-distribution").save("f.pdf", width="3.3in")
    lt.reproduce("dctcp-fig19", quick=True).claims
    lt.analyze("x.pcapng").findings
    lt.advise(racks=4, hosts="25G").sentences

A scenario is an experiment as data: `lt.scenarios()` lists the embedded ones, and
`lt.Scenario.from_file` reads a file. Quantities are text with their unit ("65 pkt", "10 Gbit/s",
"2 us"). Runs use all CPUs, release the GIL, end at Ctrl-C, and have the same digests as the command
`lowtide run`.
Errors are exceptions of `lowtide.errors`; those of a scenario have its file and line.
"""

from . import _interpreter  # noqa: F401  before the native part
from ._advice import Advice, advise
from ._analysis import Analysis, analyze
from ._catalogue import scenarios, schemes
from ._conformance import check_control
from ._control import CongestionControl
from ._figure import Figure
from ._lowtide import (
    AckSample,
    CcSetup,
    Connection,
    ConnectionInfo,
    IdleRestart,
    Loss,
    Recovered,
    Rto,
    Segment,
    Undo,
)
from ._lowtide import version as _version
from ._papers import Reproduction, reproduce
from ._param import Param
from ._registry import register
from ._result import Comparison, Result, load
from ._rows import Rows
from ._scenario import Check, Scenario, scenario
from ._table import Table
from .errors import (
    ControlError,
    ControlWarning,
    LibraryError,
    LowtideError,
    RequestError,
    RunError,
    ScenarioError,
)

__version__: str = _version()

__all__ = [
    "AckSample",
    "Advice",
    "Analysis",
    "CcSetup",
    "Check",
    "Comparison",
    "CongestionControl",
    "Connection",
    "ConnectionInfo",
    "ControlError",
    "ControlWarning",
    "Figure",
    "IdleRestart",
    "LibraryError",
    "Loss",
    "LowtideError",
    "Param",
    "Recovered",
    "Reproduction",
    "RequestError",
    "Result",
    "Rows",
    "Rto",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Segment",
    "Table",
    "Undo",
    "__version__",
    "advise",
    "analyze",
    "check_control",
    "load",
    "register",
    "reproduce",
    "scenario",
    "scenarios",
    "schemes",
]
