"""Congestion controls as classes in Python."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from . import _trace
from ._definition import check_definition
from ._lowtide import AckSample, CcSetup, IdleRestart, Loss, Recovered, Rto, Undo


class CongestionControl:
    """Base of a congestion control in Python: TCP NewReno whose hooks a subclass replaces.

    It grows and restarts by the RFCs, whatever `growth-counts` and `idle-decay` say.

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
    is one, and those that `variables` names are recorded with the probes of a run.

    Random numbers come from `self.setup.rng`, the time from the facts: then equal runs are equal.
    Data belongs into `self`: attributes of the class and globals are shared by all connections of
    all runs. Changes of them are reported with a `ControlWarning` and taken back before the next
    run.

    An exception in a hook ends the run and is raised by it. A misspelt hook or attribute is a
    `ControlError` when the class is defined. `lt.check_control` runs the conformance kit that
    controls in Rust must pass.
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
    rate_based: ClassVar[bool] = False
    """It sends at `pacing_rate`, and its window only bounds the data in flight; `pacing` must not be
    `off`, and the conformance kit checks rules of rates."""
    exemptions: ClassVar[Mapping[str, str]] = {}
    """Rules of the conformance kit that it breaks on purpose, each with the text that allows it."""
    needs_delay: ClassVar[bool] = False
    """It needs the delay option (DX); without it the connection runs NewReno."""
    variables: ClassVar[Mapping[str, str]] = {}
    """Attributes that the table `variables` records over time, each with its unit: "bytes",
    "packets", "ns", "bit/s", or "" for fractions. None is not recorded."""
    runs_by_the_clock: ClassVar[bool] = False
    """It also gets ACKs that arrive before this end has sent data."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_definition(cls, CongestionControl)

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
        _trace.follow(made)
        return made
