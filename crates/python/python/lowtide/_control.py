"""Congestion controls as classes in Python."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeVar

from . import _lowtide
from ._code import code_digest
from ._lowtide import AckSample, CcSetup, IdleRestart, Loss, Recovered, Rto, Undo
from ._param import Param
from .errors import ControlError, RequestError


class CongestionControl:
    """Base of a congestion control in Python: TCP NewReno whose hooks a subclass replaces.

        class Gentle(lt.CongestionControl):
            \"\"\"Keeps 0.8 of its window at a mark.\"\"\"
            name = "gentle"
            keep = lt.Param(0.8, doc="Window after a mark, as a share of the window before.")

            def on_ack(self, ack):
                if ack.ece and ack.may_reduce:
                    self.cut_to(self.cwnd * self.keep)
                    return True
                self.grow(ack)

        lt.scenario("first-light").run(controls=[Gentle], schemes=["ecn", "gentle"])

    There is one object per connection. A hook changes `cwnd` and `ssthresh` (bytes; floats are
    rounded down where they are used) and `pacing_rate` (bit/s). Methods without a change have the
    rules of RFC 5681, so only `on_ack` is usually replaced. An attribute `alpha` (0 to 1), if there
    is one, is recorded with the probes of a run.

    An exception in a hook ends the run and is raised by it. `lt.check_control` runs the
    conformance kit that controls in Rust must pass.
    """

    name: ClassVar[str]
    """Name in scenario files and results, in kebab case; also that of the scheme."""
    scheme: ClassVar[str] = "ecn"
    """The scheme whose other settings (ECN, ACK policy, decoder) the scheme `name` has: "sack" for
    a control without ECN, "dctcp" for one that needs the share of marked bytes."""
    spec: ClassVar[str] = "a class in Python"
    """Specification of the control, as "RFC 8511 §3"."""
    reacts_to: ClassVar[Sequence[str]] = ("loss", "ecn")
    """Its signals, for the conformance kit: "loss", "ecn", "delay"."""
    floor_segments: ClassVar[int] = 2
    """Minimum window after any reaction except a timeout, segments, for the conformance kit."""
    proportional: ClassVar[bool] = False
    """An ECN cut is proportional to the marked share, for the conformance kit."""
    exemptions: ClassVar[Mapping[str, str]] = {}
    """Rules of the conformance kit that it breaks on purpose, each with the text that allows it."""
    needs_delay: ClassVar[bool] = False
    """It needs the delay option (DX); without it the connection runs NewReno."""
    runs_by_the_clock: ClassVar[bool] = False
    """It also gets ACKs that arrive before this end has sent data."""

    def __init__(self, setup: CcSetup) -> None:
        """Starts at the initial window, in slow start. A subclass with own state calls it first.

        setup: parameters of the connection, bytes
        """
        self.mss: int = setup.mss
        """Payload bytes of a full segment."""
        self.setup: CcSetup = setup
        """Parameters of the connection when it was established."""
        self.cwnd: float = setup.initial_window
        """Congestion window, bytes."""
        self.ssthresh: float = math.inf
        """Slow-start threshold, bytes; infinite before the first reaction."""
        self.pacing_rate: float | None = None
        """Pacing rate, bit/s; None sends on ACKs."""
        self._bytes_counted: float = 0
        self._cwnd_before_cut: float | None = None
        self._before_loss: tuple[float, float, float | None] | None = None

    def on_ack(self, ack: AckSample) -> bool | None:
        """Processes one ACK: updates estimators and window, in the order of the specification.

        Returns True if it reduced the window because of ECN or delay: the sender then reports it
        (CWR) and does not reduce again in this round trip. Without a return value, a smaller window
        counts as a reduction.
        """
        if ack.ece and ack.may_reduce and self.setup.ecn:
            self.cut_to(self.cwnd // 2)
            return True
        self.grow(ack)
        return False

    def on_loss(self, loss: Loss) -> None:
        """A loss was found without a timeout: halves the bytes in flight (RFC 5681 §3.1)."""
        self._save()
        # RFC 3168 §6.1.2: one reduction per window of data.
        before = self._cwnd_before_cut if loss.already_reduced else None
        self._cwnd_before_cut = None
        self._lower_to(self._half(loss.in_flight if before is None else before))

    def on_recovered(self, recovered: Recovered) -> None:
        """Fast recovery is over: bounds the burst (RFC 6582 §3.2)."""
        self.cwnd = min(self.cwnd, max(recovered.in_flight, self.mss) + self.mss)

    def on_rto(self, rto: Rto) -> None:
        """The retransmission timer fired: one segment, and slow start (RFC 5681 §3.1)."""
        if rto.first:
            self._save()
            self.ssthresh = max(self._half(rto.in_flight), self.setup.ssthresh_floor)
        self.cwnd = self.mss
        self._bytes_counted = 0
        self._cwnd_before_cut = None

    def on_idle_restart(self, idle: IdleRestart) -> None:
        """Sending resumes after an idle time: at most the initial window (RFC 5681 §4.1)."""
        self.cwnd = min(self.cwnd, self.setup.initial_window)
        self._bytes_counted = 0
        self._cwnd_before_cut = None
        self._before_loss = None

    def on_undo(self, undo: Undo) -> None:
        """The last loss reaction was spurious: restores the window before it (RFC 4015)."""
        if self._before_loss is not None:
            cwnd, ssthresh, self._cwnd_before_cut = self._before_loss
            self.cwnd = max(self.cwnd, cwnd)
            self.ssthresh = max(self.ssthresh, ssthresh)
            self._before_loss = None

    def grow(self, ack: AckSample) -> None:
        """Grows the window by RFC 5681 with the byte counting of RFC 3465, if the ACK permits:
        slow start below ssthresh, then one segment per window of acknowledged bytes."""
        if ack.may_grow:
            self.congestion_avoidance(self.slow_start(ack))

    def slow_start(self, ack: AckSample) -> float:
        """Slow start; returns the bytes of the ACK that are left for congestion avoidance."""
        if self.cwnd >= self.ssthresh:
            return ack.acked_bytes
        limit = self.mss if ack.after_rto else self.setup.abc_limit
        counted = min(ack.acked_bytes, limit)
        room = self.ssthresh - self.cwnd
        self.cwnd += min(counted, room)
        return max(counted - room, 0)

    def congestion_avoidance(self, acked_bytes: float) -> None:
        """Additive increase: one segment per window of acknowledged bytes."""
        self._bytes_counted += acked_bytes
        if self._bytes_counted >= self.cwnd:
            self._bytes_counted -= self.cwnd
            self.cwnd += self.mss

    def cut_to(self, target: float) -> None:
        """Reduces window and threshold to `target` bytes, or to the floor of the connection, for
        ECN or delay. A window below the floor is not raised, and no earlier loss is undone."""
        self._cwnd_before_cut = self.cwnd
        self._before_loss = None
        self._lower_to(max(target, self.setup.floor))

    def _half(self, in_flight: float) -> float:
        return max(in_flight // 2, self.setup.floor)

    def _lower_to(self, target: float) -> None:
        self.ssthresh = max(target, self.setup.ssthresh_floor)
        self.cwnd = min(self.cwnd, target)
        self._bytes_counted = 0

    def _save(self) -> None:
        self._before_loss = (self.cwnd, self.ssthresh, self._cwnd_before_cut)

    @classmethod
    def _made(cls, setup: CcSetup, values: dict[str, Any]) -> CongestionControl:
        """Returns the control of a connection with these values of its parameters."""
        made = cls.__new__(cls)
        vars(made).update(values)
        made.__init__(setup)  # type: ignore[misc]
        return made


Control = TypeVar("Control", bound=type[CongestionControl])

# Registered classes by name.
_registered: dict[str, type[CongestionControl]] = {}


def register(control: Control) -> Control:
    """Registers a class as a congestion control and as a scheme of its name, for this process.
    Returns the class, so it is also a decorator.

    Scenario files then know the name: `schemes=["dctcp", "mine"]`, or
    `set("transport.sender.cc", "mine")`. Executing the cell of the class again registers the new
    version in place of the old one. Results have the digest of the code, and a directory of another
    version is refused.

    Raises `RequestError` if another class, or a part of lowtide, has the name.
    """
    declaration = _declaration(control)
    name = declaration["name"]
    other = _registered.get(name)
    if other is not None and _place(other) != _place(control):
        raise RequestError(
            f"the control `{name}` is the class {_place(other)}",
            f"give {_place(control)} another `name`",
        )
    _lowtide.register_control(control, declaration)
    _registered[name] = control
    return control


def refresh() -> None:
    """Registers classes again whose code has changed, as by a global constant that they use."""
    for control in list(_registered.values()):
        register(control)


def check_control(control: type[CongestionControl], **params: object) -> None:
    """Runs the conformance kit on a class: the rules that every control of lowtide must pass.

    params: values of its parameters; others have their defaults

    Returns nothing if every rule holds. Raises `ControlError` with all broken rules in
    `violations`, or the exception of a hook.
    """
    declaration = _declaration(control)
    given = [(name.replace("_", "-"), _text(value)) for name, value in params.items()]
    broken = _lowtide.check_control(control, declaration, given)
    if broken:
        lines = "".join(f"\n  {rule}: {detail}" for rule, detail in broken)
        raise ControlError(f"`{declaration['name']}` breaks the conformance kit:{lines}", broken)


def interrupt_hooks() -> None:
    """Raises `KeyboardInterrupt` in the hooks that other threads run."""
    hooks = {
        function.__code__
        for control in _registered.values()
        for base in control.__mro__
        for function in vars(base).values()
        if hasattr(function, "__code__")
    }
    hooks.add(CongestionControl._made.__func__.__code__)  # type: ignore[attr-defined]
    for thread, frame in sys._current_frames().items():
        outermost = frame
        while outermost.f_back is not None:
            outermost = outermost.f_back
        if outermost.f_code in hooks:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
            )


def _place(control: type) -> str:
    return f"{control.__module__}.{control.__qualname__}"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _declaration(control: type[CongestionControl]) -> dict[str, Any]:
    """Describes a class for the native module.

    Raises `RequestError` for a class that cannot be registered.
    """
    if not (isinstance(control, type) and issubclass(control, CongestionControl)):
        raise RequestError(f"{control!r} is no subclass of lowtide.CongestionControl")
    name = getattr(control, "name", None)
    words = name.split("-") if isinstance(name, str) else []
    if not (words and all(w.isascii() and w.isalnum() and w.islower() for w in words)):
        raise RequestError(
            f"the name {name!r} of {_place(control)} is not possible",
            'set `name` to lower-case words with hyphens, as "my-dctcp"',
        )
    params = _params(control)
    return {
        "name": name,
        "code": code_digest(control),
        "summary": _summary(control),
        "spec": control.spec,
        "scheme": control.scheme,
        "params": [param.declaration(attribute) for attribute, param in params.items()],
        "reacts_to": list(control.reacts_to),
        "floor_segments": control.floor_segments,
        "proportional": control.proportional,
        "exemptions": list(control.exemptions.items()),
        "needs_delay": control.needs_delay,
    }


def _params(control: type) -> dict[str, Param[Any]]:
    """The parameters of a class by attribute, those of its bases first."""
    found: dict[str, Param[Any]] = {}
    for base in reversed(control.__mro__):
        for attribute, value in vars(base).items():
            if isinstance(value, Param):
                found[attribute] = value
    for attribute in found:
        if hasattr(CongestionControl, attribute) or attribute in _RESERVED:
            raise RequestError(
                f"the parameter `{attribute}` of {_place(control)} has the name of an attribute of "
                "every control",
                "give it another name",
            )
    return found


# Attributes that `CongestionControl.__init__` sets, and the digest of the code.
_RESERVED: tuple[Literal["code", "cwnd", "mss", "pacing_rate", "setup", "ssthresh"], ...] = (
    "code",
    "cwnd",
    "mss",
    "pacing_rate",
    "setup",
    "ssthresh",
)


def _summary(control: type) -> str:
    """The first line of the class's own docstring."""
    lines = (vars(control).get("__doc__") or "").strip().splitlines()
    return lines[0].rstrip(".") if lines else f"the class {_place(control)}"
