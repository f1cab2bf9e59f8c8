"""Names that a function uses, from its compiled code."""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

# A global, and the attributes that are read from it: `np.random.rand` is ("np", "random", "rand").
Chain = tuple[str, ...]


class Uses(NamedTuple):
    """Names in a function and in the functions inside of it."""

    chains: frozenset[Chain]
    """Globals with the attributes that are read from them."""
    free: frozenset[Chain]
    """Variables of enclosing functions, likewise."""
    assigned: frozenset[str]
    """Attributes that are assigned, of any object."""
    read: frozenset[str]
    """Names of globals and attributes that are read, and texts that may be names."""
    imports: frozenset[tuple[str, int, tuple[str, ...]]]
    """Imports: name, level of a relative import, imported names."""


def nested(code: CodeType) -> Iterator[CodeType]:
    """Yields a code object and those inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


@functools.lru_cache(maxsize=4096)
def uses(code: CodeType) -> Uses:
    """Returns the names that a function uses."""
    chains: set[Chain] = set()
    free: set[Chain] = set()
    found = chains
    assigned: set[str] = set()
    read: set[str] = set()
    imports: set[tuple[str, int, tuple[str, ...]]] = set()
    for part in nested(code):
        texts = {text for text in part.co_consts if isinstance(text, str) and text.isidentifier()}
        # `setattr(self, "cwnd", 1)` assigns what the text names.
        (assigned if "setattr" in part.co_names else read).update(texts)
        chain: Chain = ()
        constants: list[object] = []
        for step in dis.get_instructions(part):
            name = step.argval if isinstance(step.argval, str) else ""
            if step.opname in _LOAD_ATTRIBUTE:
                read.add(name)
                if chain:
                    chain = (*chain, name)
                continue
            if step.opname in _PASSED_OVER:
                continue
            if chain:
                found.add(chain)
                chain = ()
            if step.opname in _LOAD_GLOBAL or step.opname in _LOAD_FREE:
                read.add(name)
                chain = (name,)
                found = chains if step.opname in _LOAD_GLOBAL else free
            elif step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                chains.add((name,))
            elif step.opname == "STORE_ATTR":
                assigned.add(name)
            elif step.opname == "IMPORT_NAME":
                level, names = constants[-2:] if len(constants) > 1 else (0, None)
                listed = names if isinstance(names, tuple) else ()
                imports.add((name, level if isinstance(level, int) else 0, listed))
            if step.opname.startswith(("LOAD_CONST", "LOAD_SMALL_INT")):
                constants.append(step.argval)
        if chain:
            found.add(chain)
    return Uses(
        frozenset(chains), frozenset(free), frozenset(assigned), frozenset(read), frozenset(imports)
    )


_LOAD_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_LOAD_FREE = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_LOAD_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
_PASSED_OVER = ("CACHE", "EXTENDED_ARG", "NOP")
