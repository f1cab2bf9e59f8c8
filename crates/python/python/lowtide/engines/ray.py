"""Ray: a task of the sweep is a Ray task."""

from __future__ import annotations

from typing import Any

from .._library import needs


class RayExecutor:
    """Submits calls as Ray tasks; `ray.init()` comes first."""

    def __init__(self, max_retries: int = 3, **options: Any) -> None:
        """max_retries: repetitions of a task whose worker was lost
        options: further options of a Ray task: num_cpus, resources, runtime_env
        """
        self._ray = needs("ray", "lowtide.engines.ray")
        self._options = {"max_retries": max_retries, **options}

    def submit(self, fn: Any, /, *args: Any) -> RayTask:
        return RayTask(self._ray, self._ray.remote(**self._options)(fn).remote(*args))


class RayTask:
    """The result of a Ray task, in the future."""

    def __init__(self, ray: Any, ref: Any) -> None:
        self._ray, self._ref = ray, ref

    def done(self) -> bool:
        return bool(self._ray.wait([self._ref], timeout=0, fetch_local=False)[0])

    def result(self) -> Any:
        try:
            return self._ray.get(self._ref)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error

    def cancel(self) -> None:
        self._ray.cancel(self._ref)
