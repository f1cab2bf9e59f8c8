"""The conformance kit on a class: rules of all controls, and that equal runs are equal."""

from __future__ import annotations

from typing import Any

from . import _lowtide
from ._code import Code
from ._control import CongestionControl
from ._registry import REPEATABLE, declaration_of
from ._shared import take_back, watching
from ._trace import Trace, tracing
from .errors import ControlError


def check_control(control: type[CongestionControl], **params: object) -> None:
    """Runs the conformance kit on a class: the rules that every control of lowtide must pass.

    The kit runs twice. A control whose two runs differ breaks the rule `repeatable`, as does one
    that uses random numbers or clocks of Python: its results could not be made again.

    params: values of its parameters; others have their defaults

    Returns nothing if every rule holds. Raises `ControlError` with all broken rules in
    `violations`, or the exception of a hook.
    """
    take_back()
    declaration, code = declaration_of(control)
    given = [(name.replace("_", "-"), _text(value)) for name, value in params.items()]
    with watching([code]) as changed:
        first = Trace()
        with tracing(first):
            broken = _lowtide.check_control(control, declaration, given)
        second = Trace(first)
        with tracing(second):
            _lowtide.check_control(control, declaration, given)
    take_back()
    broken = [*broken, *_unrepeatable(control, code, second.difference(), changed)]
    if broken:
        lines = "".join(f"\n  {rule}: {detail}" for rule, detail in broken)
        raise ControlError(f"`{declaration['name']}` breaks the conformance kit:{lines}", broken)


def _unrepeatable(
    control: type[CongestionControl], code: Code, difference: str | None, changed: list[str]
) -> list[tuple[str, str]]:
    """The violation of the rule that equal runs are equal, if there is one."""
    causes = []
    if code.varying:
        causes.append(
            f"it uses {', '.join(code.varying)}: draw from self.setup.rng, and take the time from "
            "the facts of the hooks"
        )
    if changed and difference is not None:
        causes.append(f"its hooks change {', '.join(changed)}: keep such data in self")
    is_exempt = REPEATABLE in control.exemptions
    if difference is None and not causes:
        unused = "the rule `repeatable` is not broken, so it needs no exemption"
        return [("exemption", unused)] if is_exempt else []
    if is_exempt:
        return []
    text = "; ".join(filter(None, (difference, *causes)))
    return [(REPEATABLE, text)]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
