"""One connection, stepped by hand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import lowtide as lt
import pytest
from controls import Dctcp

US = 1_000_000
"""Picoseconds of a microsecond."""

Ends = tuple[lt.Connection, lt.Connection]
Link = Callable[[lt.Segment], "lt.Segment | None"]


def pair(scheme: str | None = "dctcp", **options: object) -> Ends:
    """A client and a server before the handshake."""
    return (
        lt.Connection.client(scheme, profile="linux", **options),
        lt.Connection.server(scheme, profile="linux", **options),
    )


def carry(source: lt.Connection, sink: lt.Connection, link: Link = lambda segment: segment) -> None:
    """Carries the segments of one direction, 1 us each; a link returns None for a lost one."""
    for segment in source.transmit():
        source.advance("1 us")
        sink.advance("1 us")
        arriving = link(segment)
        if arriving is not None:
            sink.receive(arriving)


def exchange(ends: Ends, rounds: int = 1, link: Link = lambda segment: segment) -> None:
    """Round trips of 100 us and more; `link` is the one from client to server."""
    client, server = ends
    for _ in range(rounds):
        client.advance("50 us")
        server.advance(50 * US)
        carry(client, server, link)
        if server.state == "ESTABLISHED":
            server.read()
        client.advance("50 us")
        server.advance("50 us")
        carry(server, client)


def established(scheme: str | None = "dctcp", **options: object) -> Ends:
    ends = pair(scheme, **options)
    exchange(ends, 2)
    assert [end.state for end in ends] == ["ESTABLISHED", "ESTABLISHED"]
    return ends


def test_the_handshake_negotiates_ecn() -> None:
    client, server = pair()
    assert (client.state, server.state, server.now) == ("SYN-SENT", "LISTEN", 0)
    [syn] = client.transmit()
    assert syn.flags == ("SYN", "ECE", "CWR") and syn.sent_at == 0 and syn.mss == 1460
    assert client.transmit() == []
    client.advance("50 us")
    server.advance("50 us")
    assert server.receive(syn) is None and server.state == "SYN-RECEIVED"
    [syn_ack] = server.transmit()
    assert set(syn_ack.flags) == {"SYN", "ACK", "ECE"} and syn_ack.ack == (syn.seq + 1) % 2**32
    assert syn_ack.sent_at == 50 * US and not syn_ack.payload_len
    client.advance("50 us")
    assert client.receive(syn_ack) is None and client.events() == ["established"]
    [ack] = client.transmit()
    assert ack.flags == ("ACK",) and ack.ack == (syn_ack.seq + 1) % 2**32
    assert server.receive(ack) is None and server.events() == ["established"]
    assert (client.info.ecn, client.info.cc, client.info.srtt) == ("rfc3168", "dctcp", 100 * US)


def test_a_mark_comes_back_as_ece() -> None:
    client, server = established()
    client.write(1000)
    [data] = client.transmit()
    assert (data.payload_len, data.ecn, data.is_ect) == (1000, "ect0", True)
    assert server.receive(data.mark()) is None
    # DCTCP acknowledges a change of CE at once.
    echoes = server.transmit()
    if not echoes:
        server.advance()
        echoes = server.transmit()
    assert ["ECE" in echo.flags for echo in echoes] == [True]
    assert server.info.received_ce_bytes == 1000 and server.events()[-1] == "readable"
    assert (server.readable, server.read(400), server.read(), server.readable) == (
        1000,
        400,
        600,
        0,
    )
    client.receive(echoes[0])
    assert client.info.delivered_ce_bytes == 1000 and client.info.ecn_reductions == 1
    client.write(1000)
    assert "CWR" in client.transmit()[0].flags


def test_marks_move_alpha_and_the_window() -> None:
    ends = established(settings={"receive-buffer": "100 kB"})
    client = ends[0]
    client.write(50_000_000)
    exchange(ends, 30)
    calm = client.info
    assert calm.alpha is not None and calm.alpha < 0.2 and calm.ssthresh is None
    exchange(ends, 30, link=lambda segment: segment.mark() if segment.is_ect else segment)
    marked = client.info
    assert marked.alpha is not None and marked.alpha > 0.8
    assert marked.cwnd < calm.cwnd // 4 and marked.ssthresh is not None
    assert marked.bytes_retrans == 0


def test_a_lost_segment_is_retransmitted() -> None:
    ends = established("cubic", settings={"tail-loss-probe": "off"})
    client, server = ends
    client.write(100_000)
    lost: list[lt.Segment] = []

    def link(segment: lt.Segment) -> lt.Segment | None:
        if not lost and segment.payload_len:
            lost.append(segment)
            return None
        return segment

    # Nagle and the delayed ACK of the last segments take 40 ms each.
    exchange(ends, 1000, link)
    info = client.info
    assert info.bytes_retrans == lost[0].payload_len > 0
    assert (info.fast_retransmits, info.rto_count) == (1, 0)
    assert server.info.bytes_received == info.bytes_acked == 100_000


def test_a_timeout_retransmits_at_its_time() -> None:
    client, _ = established("cubic", settings={"rto-min": "5 ms", "tail-loss-probe": "off"})
    client.write(1000)
    [first] = client.transmit()
    timeout = client.next_timeout
    assert timeout is not None and timeout > client.now
    client.advance("1 s")
    again = client.transmit()
    assert {segment.seq for segment in again} == {first.seq} and again[0].sent_at == timeout
    times = [segment.sent_at or 0 for segment in again]
    waits = [later - earlier for earlier, later in pairwise(times)]
    assert waits and all(later == 2 * earlier for earlier, later in pairwise(waits))
    assert client.info.rto_count == len(again) and client.info.cwnd == client.info.mss


def test_advance_without_a_duration_goes_to_the_next_timer() -> None:
    client, _ = pair()
    assert client.transmit()
    timeout = client.next_timeout
    client.advance()
    assert client.now == timeout
    [again] = client.transmit()
    assert "SYN" in again.flags and again.sent_at == timeout


def test_both_ends_close() -> None:
    ends = established()
    client, server = ends
    client.write(10)
    client.close()
    exchange(ends)
    # Linux delays the acknowledgement of a FIN after data.
    assert client.state == "FIN-WAIT-1"
    server.advance("40 ms")
    exchange(ends)
    assert server.events()[-1] == "peer-closed" and client.state == "FIN-WAIT-2"
    server.read()
    server.close()
    exchange(ends, 2)
    assert (server.state, server.close_reason) == ("CLOSED", "closed")
    assert client.state == "TIME-WAIT" and client.events()[-1] == "closed"
    client.advance("61 s")
    assert (client.state, client.close_reason, client.next_timeout) == ("CLOSED", "closed", None)


def test_an_abort_resets_the_peer() -> None:
    ends = established()
    client, server = ends
    client.abort()
    [rst] = client.transmit()
    assert "RST" in rst.flags and server.receive(rst) is None
    assert (client.close_reason, server.close_reason) == ("aborted", "reset by the peer")


def test_segments_are_values() -> None:
    made = lt.Segment(
        seq=2**32 - 1,
        ack=5,
        flags="ACK ECE",
        window=100,
        payload_len=3,
        ecn="ce",
        timestamps=(7, 8),
        sack=[(1, 2), (3, 4)],
        src_port=80,
        dst_port=49152,
    )
    assert made == made.replace() and made.sent_at is None
    assert made.replace(flags=["ACK", "ECE"]) == made != made.replace(flags=("ACK",))
    packet = made.to_bytes()
    assert packet[12:20] == bytes([10, 0, 0, 2, 10, 0, 0, 1]) and packet[1] == 3
    assert lt.Segment.from_bytes(packet) == made
    assert "flags='ACK ECE'" in repr(made) and made.sack == [(1, 2), (3, 4)]
    assert lt.Segment(mss=1460, window_scale=7, sack_permitted=True).replace(mss=None).mss is None


def test_a_rejected_segment_is_an_answer() -> None:
    client, server = established()
    client.write(1000)
    [data] = client.transmit()
    beyond = server.receive(data.replace(seq=(data.seq + 2**30) % 2**32))
    assert beyond == "outside the receive window" and server.info.rejected == 1
    assert server.readable == 0 and server.receive(data) is None
    assert server.receive(data.replace(dst_port=81)) == "no connection has its ports"
    assert any("RST" in reply.flags for reply in server.transmit())


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: lt.Connection.client("dctpc"), "did you mean `dctcp`"),
        (lambda: lt.Connection.server(profile="linus"), "did you mean `linux`"),
        (lambda: lt.Connection.client(settings={"rto-mim": "1 s"}), "did you mean `rto-min`"),
        (lambda: lt.Connection.client(settings={"rto-min": "1 furlong"}), "rto-min"),
        (lambda: lt.Connection.server().write(1), "no connection yet"),
        (lambda: lt.Connection.server().info, "no connection yet"),
        (lambda: lt.Connection.server().close(), "no connection yet"),
        (lambda: lt.Connection.server().advance(), "no timer is set"),
        (lambda: lt.Connection.client().advance("10 parsec"), "parsec"),
        (lambda: lt.Connection.client().advance(-1), "whole number"),
        (lambda: lt.Connection.client().advance(2**64 - 1), "213 days"),
        (lambda: lt.Connection.client().write(-1), "whole number"),
        (lambda: lt.Connection.client().write(2**60), "2\\^48"),
        (lambda: lt.Connection.client().write(True), "whole number"),
        (lambda: lt.Connection.client().read(1), "0 are there"),
        (lambda: lt.Segment(sequence=1), "there is no field `sequence`"),
        (lambda: lt.Segment(windw=1), "did you mean `window`"),
        (lambda: lt.Segment(seq=2**32), "from 0 to 4294967295"),
        (lambda: lt.Segment(payload_len=70_000), "from 0 to 65495"),
        (lambda: lt.Segment(flags="SYNN"), "did you mean `SYN`"),
        (lambda: lt.Segment(flags=3), "names of control bits"),
        (lambda: lt.Segment(ecn="ect2"), "did you mean `ect0` or `ect1`"),
        (lambda: lt.Segment(sack=[(1, 2)] * 5), "more than 4 blocks"),
        (lambda: lt.Segment(sack=[1]), "pairs"),
        (lambda: lt.Segment(timestamps=(1,)), "a pair"),
        (
            lambda: lt.Segment(sack=[(1, 2)] * 4, timestamps=(1, 2)),
            "40 bytes are possible",
        ),
        (lambda: lt.Segment().mark(), "not ECT"),
        (lambda: lt.Segment.from_bytes(b"E"), "20 bytes"),
    ],
)
def test_a_wrong_call_is_a_request_error(call: Callable[[], object], text: str) -> None:
    with pytest.raises(lt.RequestError, match=text):
        call()


def test_a_closed_end_writes_nothing() -> None:
    client, _ = established()
    client.close()
    with pytest.raises(lt.RequestError, match="this end is closed"):
        client.write(1)


def test_equal_calls_give_equal_segments() -> None:
    def sent(seed: int) -> list[lt.Segment]:
        client = lt.Connection.client(seed=seed)
        client.advance("10 s")
        return client.transmit()

    assert sent(3) == sent(3) != sent(4)


def test_a_control_in_python_is_stepped() -> None:
    lt.register(Dctcp)
    window = {"receive-buffer": "100 kB"}
    twins = [established(scheme, settings=window) for scheme in ("py-dctcp", "dctcp")]
    for ends in twins:
        ends[0].write(10_000_000)
        exchange(ends, 10)
        exchange(ends, 10, lambda segment: segment.mark() if segment.is_ect else segment)
    ours, theirs = (ends[0].info for ends in twins)
    assert (ours.cc, ours.cwnd, ours.alpha) == ("py-dctcp", theirs.cwnd, theirs.alpha)
    assert ours.ecn_reductions == theirs.ecn_reductions > 0


def test_an_exception_of_a_hook_is_raised_by_the_call() -> None:
    class Fails(lt.CongestionControl):
        name = "py-fails"

        def on_ack(self, ack: lt.AckSample) -> None:
            raise ZeroDivisionError("on purpose")

    lt.register(Fails)
    ends = established("py-fails")
    client = ends[0]
    client.write(10_000)
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        exchange(ends, 5)
    with pytest.raises(lt.RequestError, match="has failed"):
        client.write(1)


def test_a_hook_cannot_call_its_connection() -> None:
    calls: list[lt.Connection] = []

    class Calls(lt.CongestionControl):
        name = "py-calls"

        def on_ack(self, ack: lt.AckSample) -> None:
            calls[0].write(1)

    lt.register(Calls)
    ends = established("py-calls")
    calls.append(ends[0])
    ends[0].write(10_000)
    with pytest.raises(lt.RequestError, match="in use"):
        exchange(ends, 5)
