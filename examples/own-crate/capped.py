import lowtide as lt


class Capped(lt.CongestionControl):
    """DCTCP whose cut takes at most a share of the window."""

    name = "capped"
    scheme = "dctcp"  # its other settings: ECN, ACK policy, decoder
    proportional = True
    exemptions = {"proportional": "this study: at most `limit`"}
    limit = lt.Param(10, min=1, max=50, doc="Largest cut, in 1/100 of the window.")

    def __init__(self, setup):
        super().__init__(setup)
        self.alpha_q20 = 1 << 20  # share of marked bytes, in 2^-20
        self.window_end = self.acked = self.marked = 0

    def observe(self, ack):
        """Updates alpha at the end of an observation window (RFC 8257 §3.3), with g = 1/16."""
        self.acked += ack.acked_bytes
        self.marked += ack.ce_bytes
        if ack.snd_una > self.window_end:
            share = (min(self.marked, self.acked) << 20) // self.acked
            step = -(-abs(share - self.alpha_q20) // 16)  # rounded up, as in Rust
            self.alpha_q20 += step if share > self.alpha_q20 else -step
            self.window_end = ack.snd_nxt
            self.acked = self.marked = 0

    def on_ack(self, ack):
        if not self.setup.ecn:
            return super().on_ack(ack)
        self.observe(ack)
        if ack.ece and ack.may_reduce:
            by_alpha = (self.cwnd * self.alpha_q20) >> 21
            self.cut_to(self.cwnd - min(by_alpha, self.cwnd // 100 * self.limit))
            return True
        self.grow(ack)
        return False


if __name__ == "__main__":
    lt.check_control(Capped)
    light = lt.scenario("first-light")
    result = light.run(seeds=10, controls=[Capped], schemes=["dctcp", "capped"])
    print(result.verdict)
    print("digest", result.digest)
