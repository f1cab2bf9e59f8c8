"""Congestion controls in Python that equal controls in Rust."""

from __future__ import annotations

from typing import ClassVar

import lowtide as lt


class Reno(lt.CongestionControl):
    """NewReno, as `newreno`."""

    name = "py-reno"


class Dctcp(lt.CongestionControl):
    """DCTCP with the arithmetic of Linux, as `dctcp` with the profile `linux`."""

    name = "py-dctcp"
    scheme = "dctcp"
    proportional = True
    # Linux cuts a loss from cwnd, in whole segments, and again after a cut.
    exemptions: ClassVar = {
        "loss-halves": "Linux dctcp_ssthresh",
        "one-reduction": "Linux dctcp_ssthresh",
    }
    shift_g = lt.Param(4, max=10, doc="Gain of alpha as a power of two: g = 2^-shift-g.")

    def __init__(self, setup: lt.CcSetup) -> None:
        super().__init__(setup)
        self.marked_share = 1024
        self.window_end = 0
        self.delivered = 0
        self.marked = 0

    @property
    def alpha(self) -> float:
        return self.marked_share / 1024

    def on_ack(self, ack: lt.AckSample) -> bool | None:
        if not self.setup.ecn:
            return super().on_ack(ack)
        self.delivered += ack.delivered_segments
        self.marked += ack.ce_segments
        if ack.snd_una >= self.window_end and self.delivered > 0:
            share = (self.marked << (10 - self.shift_g)) // self.delivered
            step = self.marked_share >> self.shift_g or self.marked_share
            self.marked_share = min(self.marked_share - step + share, 1024)
            self.window_end = ack.snd_nxt
            self.delivered = self.marked = 0
        if ack.ece and ack.may_reduce:
            segments = int(self.cwnd) // self.mss
            removed = (segments * self.marked_share) >> 11
            self.cut_to(self.cwnd - removed * self.mss)
            return True
        self.grow(ack)
        return False

    def on_loss(self, loss: lt.Loss) -> None:
        super().on_loss(lt.Loss(now=loss.now, in_flight=int(self.cwnd)))

    def on_rto(self, rto: lt.Rto) -> None:
        super().on_rto(lt.Rto(now=rto.now, first=rto.first, in_flight=int(self.cwnd)))
