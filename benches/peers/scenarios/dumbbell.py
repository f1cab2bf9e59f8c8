"""Ten DCTCP flows over a 10 Gbit/s dumbbell."""

from model import Scenario, Tolerance

SCENARIO = Scenario(
    name="dumbbell",
    title="Ten long DCTCP flows over a 10 Gbit/s dumbbell, K = 65 packets",
    file="scenarios/bench-dumbbell.toml",
    full={"run.duration": "500 ms", "run.warmup": "100 ms"},
    quick={"run.duration": "200 ms", "run.warmup": "100 ms"},
    queue="switch0->switch1",
    bounds=[
        Tolerance("goodput_gbps", share=0.02),
        Tolerance("mean_queue_packets", absolute=2.0),
    ],
    remarks=["The queue is the bottleneck's."],
)
