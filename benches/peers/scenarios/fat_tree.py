"""Web-search traffic on the three tiers of DX."""

from model import Tolerance, Scenario

# Of the file: 40 ms, more than its least RTO of 10 ms. A stack without tail loss probes (ns-3) then runs into
# timeouts wherever a window ends on an odd segment, and the comparison is about nothing else.
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
        "DX has 100,000 flows; here are as many as a slow peer bears (1000, quick: 100), so packet-hops per "
        "processor second are the measure.",
        "The flows are the same ones in every tool: who, when, how much. Which of the equal ways each of "
        "them takes is a hash that differs, and with a thousand flows it decides which of the long ones meet: "
        "goodput (until the last byte of the last flow), queues and completion times may differ by that.",
        "The queue is the mean over all ports of switches, from the start to the last byte.",
    ],
)
