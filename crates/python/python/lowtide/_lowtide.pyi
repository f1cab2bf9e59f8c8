"""Native part of the package. Use the package `lowtide`."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, final

def main(program: str, args: list[str]) -> int: ...
def version() -> str: ...
def program() -> str: ...
def scenarios() -> list[tuple[str, str]]: ...
def schemes() -> list[tuple[str, str]]: ...
def load(dir: str | PathLike[str]) -> Experiment: ...
def run(
    scenario: Scenario,
    dir: str | PathLike[str],
    command: str,
    jobs: int | None = None,
    progress: Callable[[float, str], object] | None = None,
) -> Experiment: ...
def default_value(
    given: str | None, text: str, min: int, max: int, choices: list[str]
) -> tuple[str, Any]: ...
def register_control(class_: type, declaration: dict[str, Any]) -> None: ...
def check_control(
    class_: type, declaration: dict[str, Any], given: list[tuple[str, str]]
) -> list[tuple[str, str]]: ...
def merge(dir: str | PathLike[str], parts: Sequence[str | PathLike[str]]) -> Experiment: ...

@final
class Scenario:
    @staticmethod
    def load(name: str) -> Scenario: ...
    @staticmethod
    def from_file(path: str | PathLike[str]) -> Scenario: ...
    @staticmethod
    def from_text(text: str, file_name: str) -> Scenario: ...
    @property
    def name(self) -> str: ...
    @property
    def notes(self) -> list[str]: ...
    def set(self, key: str, value: str) -> Scenario: ...
    def sweep(self, key: str, values: list[str]) -> Scenario: ...
    def to_toml(self) -> str: ...
    def check(self) -> str: ...

@final
class Plan:
    def __new__(cls, scenario: Scenario) -> Plan: ...
    @property
    def text(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def outcomes(self) -> list[tuple[str, str]]: ...
    def make_part(
        self,
        dir: str | PathLike[str],
        command: str,
        source: str,
        runs: list[int],
        jobs: int,
    ) -> None: ...
    def part_runs(self, dir: str | PathLike[str]) -> list[int] | None: ...
    def merged(self, dir: str | PathLike[str]) -> Experiment | None: ...

@final
class Experiment:
    @property
    def dir(self) -> str: ...
    @property
    def digest(self) -> str: ...
    def manifest(self) -> str: ...
    def verdict(self) -> list[str]: ...
    def findings(self) -> list[str]: ...
    def labels(self) -> dict[str, str]: ...
    def summary(self) -> str: ...
    def tails(self) -> str: ...
    def tables(self) -> list[str]: ...
    def stream(self, table: str) -> Any: ...
    def schema(self, table: str) -> Any: ...
    def columns(self, table: str) -> list[tuple[str, str, str, bool]]: ...
    def compare(
        self,
        other: Experiment,
        pairs: list[tuple[str, str]],
        metrics: list[str],
        queues: list[str],
        same_within: float,
    ) -> str: ...
    def figures(self) -> list[tuple[str, str, str]]: ...
    def figure_file(self, name: str, format: str, style: dict[str, Any]) -> bytes: ...
    def figure_csv(self, name: str) -> str: ...

@final
class CcSetup:
    """Parameters of the connection when it was established. Sizes are bytes, times picoseconds."""

    def __new__(
        cls,
        *,
        mss: int = 1448,
        initial_window: int = 14_480,
        floor: int = 2896,
        ssthresh_floor: int = 0,
        abc_limit: int = 2896,
        ecn: bool = True,
        now: int = 0,
    ) -> CcSetup: ...
    @property
    def mss(self) -> int:
        """Payload bytes of a full segment, excluding options."""
    @property
    def initial_window(self) -> int:
        """Initial window, bytes."""
    @property
    def floor(self) -> int:
        """Minimum window after a reaction, bytes. A timeout reduces it to one segment regardless."""
    @property
    def ssthresh_floor(self) -> int:
        """Minimum ssthresh after a reaction, bytes."""
    @property
    def abc_limit(self) -> int:
        """RFC 3465 L, bytes: how many of an ACK's bytes may count in slow start."""
    @property
    def ecn(self) -> bool:
        """ECN was negotiated; without it a control must ignore marks."""
    @property
    def now(self) -> int:
        """Time when the connection was established, ps."""

@final
class AckSample:
    """Facts about one incoming ACK. Bytes are payload bytes, times picoseconds; offsets count
    payload from zero. Tests build one with the facts that they need: the others are zero."""

    def __new__(
        cls,
        *,
        now: int = 0,
        snd_una: int = 0,
        snd_nxt: int = 0,
        acked_bytes: int = 0,
        acked_segments: int = 0,
        sacked_bytes: int = 0,
        sacked_segments: int = 0,
        delivered_bytes: int = 0,
        delivered_segments: int = 0,
        lost_bytes: int = 0,
        lost_segments: int = 0,
        ce_bytes: int = 0,
        ce_segments: int = 0,
        ece: bool = False,
        rtt: int | None = None,
        queueing_delay: int | None = None,
        base_rtt: int | None = None,
        in_flight: int = 0,
        prior_in_flight: int = 0,
        rate_sample: tuple[int, int] | None = None,
        app_limited: bool = False,
        round_ended: bool = False,
        may_reduce: bool = False,
        may_grow: bool = False,
        after_rto: bool = False,
        delack_suspected: bool = False,
        delack_timeout: bool | None = None,
    ) -> AckSample: ...
    @property
    def now(self) -> int:
        """Time of arrival, ps."""
    @property
    def snd_una(self) -> int:
        """SND.UNA after this ACK."""
    @property
    def snd_nxt(self) -> int:
        """SND.NXT (the highest byte ever sent, plus one)."""
    @property
    def acked_bytes(self) -> int:
        """Bytes newly acknowledged cumulatively."""
    @property
    def acked_segments(self) -> int:
        """Segments newly acknowledged cumulatively."""
    @property
    def sacked_bytes(self) -> int:
        """Bytes newly SACKed."""
    @property
    def sacked_segments(self) -> int:
        """Segments newly SACKed."""
    @property
    def delivered_bytes(self) -> int:
        """Bytes newly delivered according to this ACK, in order or not."""
    @property
    def delivered_segments(self) -> int:
        """Segments newly delivered according to this ACK, in order or not."""
    @property
    def lost_bytes(self) -> int:
        """Bytes newly marked lost."""
    @property
    def lost_segments(self) -> int:
        """Segments newly marked lost."""
    @property
    def ce_bytes(self) -> int:
        """Bytes with CE according to the feedback decoder."""
    @property
    def ce_segments(self) -> int:
        """Segments with CE according to the feedback decoder."""
    @property
    def ece(self) -> bool:
        """This ACK reports congestion (ECE on an ECN connection)."""
    @property
    def rtt(self) -> int | None:
        """Round-trip time measured by this ACK, ps; None on ambiguous ACKs (Karn)."""
    @property
    def queueing_delay(self) -> int | None:
        """One-way queueing delay from the delay option, ps, if negotiated (DX)."""
    @property
    def base_rtt(self) -> int | None:
        """Minimum round trip by the delay option, ps; present with `queueing_delay`."""
    @property
    def in_flight(self) -> int:
        """Bytes in flight after this ACK (RFC 6675 pipe)."""
    @property
    def prior_in_flight(self) -> int:
        """Bytes in flight before it."""
    @property
    def rate_sample(self) -> tuple[int, int] | None:
        """Bytes delivered since the newest acknowledged segment was sent, and the time since the
        last delivery before that, ps. None if the application was the limit then."""
    @property
    def app_limited(self) -> bool:
        """The sender had no more data, so the window was not the limit."""
    @property
    def round_ended(self) -> bool:
        """A round trip ended: data sent after the previous round's end is now acknowledged."""
    @property
    def may_reduce(self) -> bool:
        """The cut rule allows an ECN reduction on this ACK."""
    @property
    def may_grow(self) -> bool:
        """The window may grow: not in loss recovery, not frozen after a cut, and it was the limit."""
    @property
    def after_rto(self) -> bool:
        """A timeout is being repaired; slow start counts with L = 1 (RFC 3465 §2.3)."""
    @property
    def delack_suspected(self) -> bool:
        """A delayed-ACK timer seems to have released this ACK."""
    @property
    def delack_timeout(self) -> bool | None:
        """True if a delayed-ACK timer released it; known in simulators only."""

@final
class Loss:
    """Fast retransmit: a loss was found without a timeout."""

    def __new__(
        cls,
        *,
        now: int = 0,
        in_flight: int = 0,
        already_reduced: bool = False,
    ) -> Loss: ...
    @property
    def now(self) -> int:
        """Time of the event, ps."""
    @property
    def in_flight(self) -> int:
        """FlightSize before the first retransmission, bytes."""
    @property
    def already_reduced(self) -> bool:
        """An ECN cut already happened in this window of data: the two must not add up."""

@final
class Recovered:
    """Fast recovery is over."""

    def __new__(
        cls,
        *,
        now: int = 0,
        in_flight: int = 0,
    ) -> Recovered: ...
    @property
    def now(self) -> int:
        """Time of the event, ps."""
    @property
    def in_flight(self) -> int:
        """FlightSize, bytes, which bounds the burst (RFC 6582 §3.2 step 3); 2**64 - 1 if PRR
        reduced the window, so that no burst is possible."""

@final
class Rto:
    """The retransmission timer fired."""

    def __new__(
        cls,
        *,
        now: int = 0,
        first: bool = True,
        in_flight: int = 0,
    ) -> Rto: ...
    @property
    def now(self) -> int:
        """Time of the event, ps."""
    @property
    def first(self) -> bool:
        """The first timeout for this data: only this one lowers ssthresh (RFC 5681 §3.1)."""
    @property
    def in_flight(self) -> int:
        """FlightSize, bytes."""

@final
class IdleRestart:
    """Sending resumes after an idle time of at least one RTO (RFC 5681 §4.1)."""

    def __new__(
        cls,
        *,
        now: int = 0,
        idle: int = 0,
    ) -> IdleRestart: ...
    @property
    def now(self) -> int:
        """Time of the event, ps."""
    @property
    def idle(self) -> int:
        """Time without sending, ps."""

@final
class Undo:
    """The last loss reaction was spurious: the state before it is to be restored."""

    def __new__(
        cls,
        *,
        now: int = 0,
    ) -> Undo: ...
    @property
    def now(self) -> int:
        """Time of the event, ps."""
