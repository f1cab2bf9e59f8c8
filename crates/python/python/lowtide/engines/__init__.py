"""Engines whose own interface differs from `submit(function, *arguments)` with futures.

`Scenario.run(on=...)` takes executors of `concurrent.futures`, of Dask (`client.get_executor()`)
and of mpi4py (`MPIPoolExecutor`) as they are. `engines.ray` and `engines.slurm` adapt Ray and
submitit.
"""
