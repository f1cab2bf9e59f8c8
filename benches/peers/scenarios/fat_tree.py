"""Web-search traffic on the three tiers of DX."""

from model import Scenario, Tolerance

# The file has 40 ms, more than its minimum RTO of 10 ms. A stack without TLP (ns-3) then has an RTO
# whenever a window ends on an odd segment, and these RTOs dominate the comparison.
DELACK = {"transport.receiver.delack-timer": "1 ms"}

SCENARIO = Scenario(
    name="fat-tree",
    title="Web-search flows (mean 654 KB, load 15 %) between 192 servers, three tiers of DX",
    file="scenarios/fat-tree-websearch.toml",
    full={"traffic.web.flows": "1000", **DELACK},
    quick={"traffic.web.flows": "100", **DELACK},
    queue=None,
    bounds=[Tolerance("hops", share=0.02)],
    remarks=[
        "DX has 100,000 flows. The comparison has fewer (1000, quick: 100) because peers are slow, so "
        "compare packet-hops per CPU second.",
        "Source, destination, start and size of all flows are equal in every tool. The ECMP hash differs, "
        "and with a thousand flows it decides which long flows share a path: goodput (until the last byte "
        "of the last flow), queues and completion times may differ for this reason.",
        "The queue is the mean over all ports of switches, from the start to the last byte.",
    ],
)
