"""Native part of the package. Use the package `lowtide`."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from random import Random
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
    def comparisons(self) -> str: ...
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
    def figure_json(self, name: str) -> str: ...

@final
class Connection:
    """One end of a connection, which the caller drives: it moves the clock, and carries segments
    to the other end, or drops or marks them.

        client = lt.Connection.client(scheme="dctcp", profile="linux")
        server = lt.Connection.server(scheme="dctcp", profile="linux")
        for segment in client.transmit():
            server.receive(segment)

    Times are picoseconds since the start. Each end has its own clock: advance both. A call that is
    not possible raises `RequestError`."""

    @staticmethod
    def client(
        scheme: str | None = None,
        *,
        profile: str | None = None,
        settings: Mapping[str, str | bool | int] | None = None,
        seed: int = 1,
    ) -> Connection:
        """Opens a connection; its SYN is in `transmit()`.

        scheme: a name of `lt.schemes()`; without one, the congestion control of the profile
        profile: the stack: "rfc" (the default), "linux", "freebsd", ...
        settings: of `transport.sender` in scenario files: {"rto-min": "5 ms"}
        seed: equal seeds and equal calls give equal segments

        Raises `RequestError` for an unknown name, with the nearest ones, and an invalid value.
        """
    @staticmethod
    def server(
        scheme: str | None = None,
        *,
        profile: str | None = None,
        settings: Mapping[str, str | bool | int] | None = None,
        seed: int = 2,
    ) -> Connection:
        """Waits for the SYN of a client, which `receive` takes. Arguments are those of `client`."""
    @property
    def now(self) -> int:
        """Virtual time of this end, ps."""
    @property
    def state(self) -> str:
        """State as RFC 9293 names it: "LISTEN", "SYN-SENT", "ESTABLISHED", ..."""
    @property
    def info(self) -> ConnectionInfo:
        """A snapshot: window, threshold, round-trip time, alpha, counters."""
    @property
    def next_timeout(self) -> int | None:
        """Time of the next timer, ps; None if no timer is set."""
    @property
    def readable(self) -> int:
        """Bytes that can be read."""
    @property
    def close_reason(self) -> str | None:
        """Reason of the close: "closed", "reset by the peer", "timed out", ...; None while it is
        open."""
    def advance(self, duration: str | int | None = None) -> None:
        """Moves the clock of this end. Timers on the way fire at their time.

        duration: text with its unit ("10 us") or picoseconds; without it, until the next timer
        """
    def transmit(self) -> list[Segment]:
        """Returns the segments that this end has sent since the last call, in their order."""
    def receive(self, segment: Segment) -> str | None:
        """Processes a segment that arrives now. One that is never given to it is lost.

        Returns None, or the reason if TCP rejects the segment: then an ACK or a RST may be in
        `transmit()`.
        """
    def write(self, n: int) -> None:
        """The application writes `n` bytes. Raises `RequestError` after `close`."""
    def read(self, n: int | None = None) -> int:
        """The application reads `n` bytes, or all that can be read. Returns their number."""
    def close(self) -> None:
        """Closes this end: FIN follows the written bytes."""
    def abort(self) -> None:
        """Resets the connection."""
    def events(self) -> list[str]:
        """Returns what happened since the last call: "established", "readable", "writable",
        "peer-closed", "closed"."""

@final
class Segment:
    """A TCP segment with the ECN codepoint of its IP header. It does not change: `replace` and
    `mark` return another one. The payload is a length. Without arguments every field is zero."""

    def __new__(
        cls,
        *,
        seq: int = 0,
        ack: int = 0,
        flags: str | Sequence[str] = "",
        window: int = 0,
        payload_len: int = 0,
        ecn: str = "not-ect",
        mss: int | None = None,
        window_scale: int | None = None,
        sack_permitted: bool = False,
        sack: Sequence[tuple[int, int]] = (),
        timestamps: tuple[int, int] | None = None,
        src_port: int = 0,
        dst_port: int = 0,
    ) -> Segment: ...
    @staticmethod
    def from_bytes(packet: bytes) -> Segment:
        """Returns the segment of an IPv4 or IPv6 packet. Raises `RequestError` for other bytes."""
    def replace(
        self,
        *,
        seq: int = ...,
        ack: int = ...,
        flags: str | Sequence[str] = ...,
        window: int = ...,
        payload_len: int = ...,
        ecn: str = ...,
        mss: int | None = ...,
        window_scale: int | None = ...,
        sack_permitted: bool = ...,
        sack: Sequence[tuple[int, int]] = ...,
        timestamps: tuple[int, int] | None = ...,
        src_port: int = ...,
        dst_port: int = ...,
    ) -> Segment:
        """Returns the segment with other values of the given fields."""
    def mark(self) -> Segment:
        """Returns the segment with CE, as a switch marks it. Raises `RequestError` for a segment
        without ECT, which a switch drops instead; `replace(ecn="ce")` marks any."""
    def to_bytes(self) -> bytes:
        """Returns the IPv4 packet between 10.0.0.1 (client) and 10.0.0.2 (server), with zeros as
        payload."""
    @property
    def sent_at(self) -> int | None:
        """When its sender sent it, ps; None for one made by hand."""
    @property
    def seq(self) -> int:
        """Sequence number of the first byte, or of the SYN."""
    @property
    def ack(self) -> int:
        """Next sequence number expected from the peer; valid with ACK only."""
    @property
    def flags(self) -> tuple[str, ...]:
        """Names of the control bits that are set: FIN, SYN, RST, PSH, ACK, URG, ECE, CWR, AE."""
    @property
    def window(self) -> int:
        """The window field, before scaling."""
    @property
    def payload_len(self) -> int:
        """Payload bytes."""
    @property
    def ecn(self) -> str:
        """ECN codepoint: "not-ect", "ect0", "ect1" or "ce"."""
    @property
    def is_ect(self) -> bool:
        """A switch may mark it: ECT(0), ECT(1) or CE."""
    @property
    def mss(self) -> int | None:
        """Maximum segment size of a SYN, bytes."""
    @property
    def window_scale(self) -> int | None:
        """Window scale of a SYN, a shift count."""
    @property
    def sack_permitted(self) -> bool:
        """SACK permitted, on a SYN."""
    @property
    def sack(self) -> list[tuple[int, int]]:
        """SACK blocks: pairs of first sequence number and the one after the last."""
    @property
    def timestamps(self) -> tuple[int, int] | None:
        """Timestamps: value and echo, in ticks of their senders."""
    @property
    def src_port(self) -> int:
        """Source port; 49152 of the client, 80 of the server."""
    @property
    def dst_port(self) -> int:
        """Destination port."""

@final
class ConnectionInfo:
    """State of a connection, with the names of Linux's `tcp_info` where they exist. Sizes are
    bytes, times picoseconds, rates bit/s."""

    @property
    def state(self) -> str:
        """State as RFC 9293 names it, as "ESTABLISHED"."""
    @property
    def cc(self) -> str:
        """The active congestion control. A control that cannot work runs as NewReno."""
    @property
    def ecn(self) -> str:
        """ECN as negotiated: "off", "rfc3168" or "accecn"."""
    @property
    def ect(self) -> bool:
        """Data is sent with ECT."""
    @property
    def cwnd(self) -> int:
        """Congestion window, bytes; zero before ESTABLISHED."""
    @property
    def ssthresh(self) -> int | None:
        """Slow-start threshold, bytes; None before the first reaction."""
    @property
    def alpha(self) -> float | None:
        """Share of marked data as the control estimates it, 0 to 1; None for one without alpha."""
    @property
    def srtt(self) -> int | None:
        """Smoothed round-trip time, ps."""
    @property
    def rttvar(self) -> int:
        """Mean deviation of the round-trip time, ps."""
    @property
    def min_rtt(self) -> int | None:
        """Minimum round-trip time seen, ps."""
    @property
    def rto(self) -> int:
        """Retransmission timeout with backoff, ps."""
    @property
    def queueing_delay(self) -> int | None:
        """Queueing delay in the last echo of the delay option, ps."""
    @property
    def pacing_rate(self) -> int | None:
        """Pacing rate, bit/s, if data is paced."""
    @property
    def in_flight(self) -> int:
        """Bytes in flight (RFC 6675 pipe)."""
    @property
    def bytes_acked(self) -> int:
        """Payload bytes acknowledged."""
    @property
    def bytes_received(self) -> int:
        """Payload bytes received in order."""
    @property
    def received_ce_bytes(self) -> int:
        """Payload bytes received with CE."""
    @property
    def snd_wnd(self) -> int:
        """Window of the peer, bytes."""
    @property
    def mss(self) -> int:
        """Payload bytes of a full segment."""
    @property
    def limited_by(self) -> str:
        """The limit of the sender: application, cwnd, receive-window or send-buffer."""
    @property
    def in_recovery(self) -> bool:
        """In loss recovery."""
    @property
    def after_rto(self) -> bool:
        """A retransmission timeout fired, and the data outstanding then is not all acknowledged."""
    @property
    def data_segs_out(self) -> int:
        """Data segments sent, retransmissions included."""
    @property
    def bytes_retrans(self) -> int:
        """Payload bytes retransmitted."""
    @property
    def rto_count(self) -> int:
        """Retransmission timeouts."""
    @property
    def fast_retransmits(self) -> int:
        """Episodes of fast recovery."""
    @property
    def undos(self) -> int:
        """Loss reactions undone as spurious."""
    @property
    def loss_probes(self) -> int:
        """Tail loss probes sent."""
    @property
    def ecn_reductions(self) -> int:
        """Reductions because of ECN."""
    @property
    def delay_reductions(self) -> int:
        """Reductions because of queueing delay."""
    @property
    def delivered_ce_bytes(self) -> int:
        """Payload bytes that the feedback decoder counted as CE."""
    @property
    def rejected(self) -> int:
        """Segments rejected."""

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
        seed: int = 0,
        rtt: int | None = None,
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
    @property
    def seed(self) -> int:
        """Seed of `rng`, from the run's seed and the name of the flow: its group, its number in
        the group, and the side of the connection."""
    @property
    def rtt(self) -> int | None:
        """Smoothed round-trip time of the handshake, ps; None if it gave no sample."""
    @property
    def rng(self) -> Random:
        """The random numbers of this connection: a `random.Random` with the seed `seed`. Equal runs
        draw equal numbers, on every platform, and another flow beside this one changes none."""

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
        fabric_delay: int | None = None,
        endpoint_delay: int | None = None,
        in_flight: int = 0,
        prior_in_flight: int = 0,
        snd_wnd: int = 0,
        rate_sample: tuple[int, int, int, bool] | None = None,
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
    def fabric_delay(self) -> int | None:
        """This round trip by the delay option without host delays, ps; present with
        `queueing_delay`."""
    @property
    def endpoint_delay(self) -> int | None:
        """Time in both hosts by the delay option, ps; present with `queueing_delay`."""
    @property
    def in_flight(self) -> int:
        """Bytes in flight after this ACK (RFC 6675 pipe)."""
    @property
    def prior_in_flight(self) -> int:
        """Bytes in flight before it."""
    @property
    def snd_wnd(self) -> int:
        """SND.WND: the peer's window, bytes."""
    @property
    def rate_sample(self) -> tuple[int, int, int, bool] | None:
        """Sample of the delivery rate, over the flight of the last sent of the segments that this
        ACK delivers: bytes delivered on the connection when it was sent, bytes delivered since, the
        interval in ps, and whether the application had left cwnd unused before."""
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
        """The window may grow: not in loss recovery, not frozen after a cut, and `growth-when`
        permits it."""
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
        """FlightSize before the first retransmission, bytes, or as `loss-from` has it."""
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
