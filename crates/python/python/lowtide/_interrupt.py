"""Ctrl-C in hooks that do not return."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._control import CongestionControl
from ._definition import functions
from ._registry import registered

# Attempts after which a further Ctrl-C ends the process: the hook sleeps, or swallows exceptions.
_ATTEMPTS = 3

_attempts = 0


def interrupt_hooks() -> None:
    """Raises `KeyboardInterrupt` in the hooks that other threads run. The native part calls it once
    a second while a run does not end after Ctrl-C."""
    global _attempts
    hooks = {
        function.__code__
        for control in registered()
        for base in control.__mro__
        for function in functions(base)
    }
    hooks.add(CongestionControl._made.__func__.__code__)  # type: ignore[attr-defined]
    _attempts += 1
    is_running = False
    for thread, frame in sys._current_frames().items():
        outermost = frame
        while outermost.f_back is not None:
            outermost = outermost.f_back
        if outermost.f_code in hooks:
            is_running = True
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
            )
    if is_running and _attempts == _ATTEMPTS and _is_main_thread():
        print(
            "lowtide: a hook of a congestion control does not return after Ctrl-C; the next Ctrl-C "
            "ends the process",
            file=sys.stderr,
            flush=True,
        )
        signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def interruptible() -> Iterator[None]:
    """The handler of Ctrl-C is the earlier one after the block."""
    global _attempts
    _attempts = 0
    handler: Any = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if _is_main_thread() and signal.getsignal(signal.SIGINT) is not handler:
            signal.signal(signal.SIGINT, handler)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
