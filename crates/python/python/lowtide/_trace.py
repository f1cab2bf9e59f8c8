"""Windows after each hook, to compare two runs of the conformance kit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ._definition import HOOKS

# Hook, answer, window, threshold, rate.
_Step = tuple[str, Any, Any, Any, Any]

_current = threading.local()


class Trace:
    """The steps of a run; those of a second run are compared with the first ones."""

    def __init__(self, first: Trace | None = None) -> None:
        self._first = first
        self._steps: list[_Step] = []
        self._difference: str | None = None

    def add(self, step: _Step, fact: Any) -> None:
        """Adds what a hook has left."""
        number = len(self._steps)
        self._steps.append(step)
        if self._first is None or self._difference is not None:
            return
        earlier = self._first._steps
        if number >= len(earlier) or repr(earlier[number]) != repr(step):
            before = _shown(earlier[number]) if number < len(earlier) else "nothing"
            self._difference = (
                f"its two runs differ: call {number + 1}, {step[0]}({fact!r}), left {_shown(step)} "
                f"in the second run and {before} in the first"
            )

    def difference(self) -> str | None:
        """The first difference, in words."""
        if self._difference is None and self._first is not None:
            counts = len(self._first._steps), len(self._steps)
            if counts[0] != counts[1]:
                return f"its two runs differ: {counts[0]} and {counts[1]} calls of hooks"
        return self._difference


def _shown(step: _Step) -> str:
    _, answer, cwnd, ssthresh, rate = step
    return f"cwnd={cwnd!r}, ssthresh={ssthresh!r}, pacing_rate={rate!r} and returned {answer!r}"


@contextmanager
def tracing(trace: Trace) -> Iterator[None]:
    """Controls that this thread makes in the block write their steps into `trace`."""
    _current.trace = trace
    try:
        yield
    finally:
        _current.trace = None


def follow(control: Any) -> None:
    """Adds a control that was just made to the trace of this thread, if there is one."""
    trace: Trace | None = getattr(_current, "trace", None)
    if trace is not None:
        for hook in HOOKS:
            vars(control)[hook] = _traced(trace, control, hook, getattr(control, hook))


def _traced(
    trace: Trace, control: Any, name: str, hook: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    def call(fact: Any) -> Any:
        answer = hook(fact)
        state = (getattr(control, key, None) for key in ("cwnd", "ssthresh", "pacing_rate"))
        cwnd, ssthresh, rate = state
        trace.add((name, answer, cwnd, ssthresh, rate), fact)
        return answer

    return call
