"""A sweep of K on a Dask cluster: python dask_sweep.py [tcp://SCHEDULER:8786]"""

import sys

import lowtide as lt
from dask.distributed import Client

if __name__ == "__main__":
    # Without an address: a cluster of this machine, one worker process per CPU.
    with Client(*sys.argv[1:]) as client:
        result = lt.scenario("leaf-spine").run(
            seeds=2,
            over={"switch.mark.k": ["20 pkt", "65 pkt", "160 pkt"]},
            schemes=["dctcp"],
            out="runs/k-dask",
            on=client.get_executor(),
        )
    print(result.slowdown(by=None, q=[0.99]))
    print(result.digest)
