"""A sweep of K as a Slurm job array: python slurm_sweep.py, on the login node."""

import lowtide as lt
from lowtide.engines.slurm import SlurmExecutor

if __name__ == "__main__":
    # The directory of submitit and its Python are on a file system of all nodes.
    array = SlurmExecutor("runs/submitit", timeout_min=60, cpus_per_task=1)
    result = lt.scenario("leaf-spine").run(
        seeds=2,
        over={"switch.mark.k": ["20 pkt", "65 pkt", "160 pkt"]},
        schemes=["dctcp"],
        out="runs/k-slurm",
        on=array,
    )
    print(result.slowdown(by=None, q=[0.99]))
    print(result.digest)
