"""Digest of the code of a class.

It covers the compiled code, not its text: what runs decides. So it is known in a shell and for
classes that were redefined, and comments do not count.
"""

from __future__ import annotations

import hashlib
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

_LIBRARY = __name__.partition(".")[0]


def code_digest(control: type) -> str:
    """Returns the digest of a class, 16 hexadecimal digits.

    It covers the methods and attributes of the class and of its bases, and the globals of its
    module that they use: constants, functions and classes. It does not cover other modules.
    """
    parts = _Parts(control.__module__)
    for base in control.__mro__:
        if base is not object and base.__module__.partition(".")[0] != _LIBRARY:
            parts.add_class(base)
    return parts.digest()


class _Parts:
    """Collects the parts of a class, each once."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._hash = hashlib.blake2b(digest_size=8)
        # By identity, with the order of the first visit. The objects are kept, so that no other gets
        # the identity of one.
        self._seen: dict[int, tuple[int, object]] = {}

    def digest(self) -> str:
        return self._hash.hexdigest()

    def _text(self, *texts: object) -> None:
        for text in texts:
            data = str(text).encode("utf-8", "surrogatepass")
            self._hash.update(len(data).to_bytes(8, "little") + data)

    def add_class(self, owner: type) -> None:
        self._text("class", owner.__qualname__)
        for name, value in sorted(vars(owner).items()):
            # The interpreter's own entries, as `__dict__` and `__firstlineno__`, are no functions.
            if not (name.startswith("__") and name.endswith("__")) or isinstance(
                value, FunctionType | classmethod | staticmethod
            ):
                self._text(name)
                self._add(value)

    def _add(self, value: Any) -> None:
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            self._text(type(value).__name__, repr(value))
            return
        if isinstance(value, frozenset | set):
            self._text("set", *sorted(map(repr, value)))
            return
        if id(value) in self._seen:
            self._text("again", self._seen[id(value)][0])
            return
        self._seen[id(value)] = (len(self._seen), value)
        self._text(type(value).__name__)
        if isinstance(value, tuple | list):
            for item in value:
                self._add(item)
        elif isinstance(value, dict):
            for key, item in value.items():
                self._add(key)
                self._add(item)
        elif isinstance(value, CodeType):
            self._add_code(value)
        elif isinstance(value, FunctionType):
            self._add_function(value)
        elif isinstance(value, classmethod | staticmethod):
            self._add(value.__func__)
        elif isinstance(value, property):
            for function in (value.fget, value.fset, value.fdel):
                self._add(function)
        elif isinstance(value, type):
            if value.__module__ == self._module:
                self.add_class(value)
            else:
                self._text(value.__module__, value.__qualname__)
        elif isinstance(value, ModuleType | BuiltinFunctionType):
            self._text(value.__name__)
        elif hasattr(value, "tolist"):
            # Scalars and arrays of NumPy.
            self._add(value.tolist())
        else:
            self._add(getattr(value, "__dict__", None))

    def _add_code(self, code: CodeType) -> None:
        self._text(code.co_code.hex(), getattr(code, "co_exceptiontable", b"").hex())
        self._text(code.co_flags, code.co_argcount, code.co_kwonlyargcount)
        self._text(*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars)
        for constant in code.co_consts:
            self._add(constant)

    def _add_function(self, function: FunctionType) -> None:
        if function.__module__ != self._module:
            self._text(function.__module__, function.__qualname__)
            return
        self._add(function.__code__)
        self._add(function.__defaults__)
        self._add(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            try:
                self._add(cell.cell_contents)
            except ValueError:
                self._text("empty")
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                self._text(name)
                self._add(function.__globals__[name])


def _names(code: CodeType) -> set[str]:
    """Names of globals and attributes in a function and in its inner functions."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant)
    return found
