"""A sweep of K on a Ray cluster: ray job submit -- python ray_sweep.py"""

import lowtide as lt
import ray
from lowtide.engines.ray import RayExecutor

if __name__ == "__main__":
    # The cluster of RAY_ADDRESS, which `ray job submit` sets; else a cluster of this machine.
    ray.init()
    result = lt.scenario("leaf-spine").run(
        seeds=2,
        over={"switch.mark.k": ["20 pkt", "65 pkt", "160 pkt"]},
        schemes=["dctcp"],
        out="runs/k-ray",
        on=RayExecutor(max_retries=3, num_cpus=1),
    )
    print(result.slowdown(by=None, q=[0.99]))
    print(result.digest)
