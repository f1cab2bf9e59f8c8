"""Digest of the code of a congestion control: everything of the user's own that its hooks reach.

It covers the compiled code, not its text: what runs decides. So it is known in a shell and for
classes that were redefined, and comments do not count.
"""

from __future__ import annotations

import builtins
import functools
import hashlib
import importlib
import importlib.util
import random
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, NamedTuple

from ._bytecode import Chain, uses
from ._origin import extension_file, is_installed, is_own, version
from ._place import ABSENT, Place

# Values whose text is the value.
_ATOMS = (type(None), type(...), type(NotImplemented), bool, int, float, complex, str, bytes)
# Built-in functions that reach what no digest covers.
_UNKNOWN = {
    "open": "reads files with open()",
    "input": "reads its input",
    "eval": "executes text with eval()",
    "exec": "executes text with exec()",
    "__import__": "imports modules by a computed name",
}
_UNKNOWN_OF_MODULES = {
    "importlib.import_module": "imports modules by a computed name",
    "os.environ": "reads the environment",
    "os.getenv": "reads the environment",
}
# Functions of modules whose values differ in each run.
_CLOCKS = {
    "time.time",
    "time.time_ns",
    "time.monotonic",
    "time.monotonic_ns",
    "time.perf_counter",
    "time.perf_counter_ns",
    "time.process_time",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "os.urandom",
    "uuid.uuid1",
    "uuid.uuid4",
}


class Code(NamedTuple):
    """The code of a class."""

    digest: str
    """16 hexadecimal digits."""
    uncovered: tuple[str, ...]
    """What the digest does not cover, each as a predicate: "reads files with open()"."""
    varying: tuple[str, ...]
    """Clocks and random numbers that it uses, as "time.time"."""
    places: tuple[Place, ...]
    """Data that all its connections share."""
    assigned: frozenset[str]
    """Attributes that its functions assign."""
    read: frozenset[str]
    """Attributes and globals that its functions read."""


def code_digest(control: type) -> str:
    """Returns the digest of a class, 16 hexadecimal digits."""
    return code_of(control).digest


def code_of(control: type) -> Code:
    """Returns the code of a class.

    The digest covers methods and attributes of the class and its bases, and the functions, classes
    and data that they use, in all modules outside of the installed packages and of Python. Of
    installed packages it covers the version.
    """
    walk = _Walk(control.__module__)
    walk.add(control)
    walk.finish()
    return Code(
        walk.digest(),
        tuple(sorted(walk.uncovered)),
        tuple(sorted(walk.varying)),
        tuple(walk.places.values()),
        frozenset(walk.assigned),
        frozenset(walk.read),
    )


def data_digest(value: Any) -> str:
    """Returns the digest of a value. Of classes, functions and modules in it only the names
    count."""
    walk = _Walk("", only_data=True)
    walk.add(value)
    walk.finish()
    return walk.digest()


class _Walk:
    """Visits every object once, breadth first; the digest has them in the order of the visit."""

    def __init__(self, module: str, only_data: bool = False) -> None:
        self._package = module.partition(".")[0]
        self._only_data = only_data
        self._hash = hashlib.blake2b(digest_size=8)
        # By identity, with the number of the visit. The objects are kept, so that no other gets the
        # identity of one.
        self._seen: dict[int, tuple[int, object]] = {}
        self._waiting: deque[Any] = deque()
        self.uncovered: set[str] = set()
        self.varying: set[str] = set()
        self.places: dict[tuple[int, str], Place] = {}
        self.assigned: set[str] = set()
        self.read: set[str] = set()

    def digest(self) -> str:
        return self._hash.hexdigest()

    def add(self, value: Any) -> None:
        self._text(self._token(value))

    def finish(self) -> None:
        while self._waiting:
            self._visit(self._waiting.popleft())

    def _text(self, *texts: object) -> None:
        for text in texts:
            data = str(text).encode("utf-8", "surrogatepass")
            self._hash.update(len(data).to_bytes(8, "little") + data)

    def _token(self, value: Any) -> str:
        """The text of an atom, or the number of another object, which is visited later."""
        if type(value) in _ATOMS:
            return f"{type(value).__name__} {value!r}"
        number, _ = self._seen.get(id(value), (None, None))
        if number is None:
            number = len(self._seen)
            self._seen[id(value)] = (number, value)
            self._waiting.append(value)
        return f"#{number}"

    def _tokens(self, values: Any) -> None:
        self._text(*map(self._token, values))

    def _is_own(self, name: Any) -> bool:
        if not isinstance(name, str):
            return False
        return is_own(name) or (bool(self._package) and name.partition(".")[0] == self._package)

    def _foreign(self, value: Any, module: Any) -> None:
        """An object of an installed package or of Python: its name, and the version."""
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
        self._text("foreign", module, name, version(module if isinstance(module, str) else None))

    def _visit(self, value: Any) -> None:
        kind = type(value)
        self._text(kind.__name__)
        if kind in (tuple, list):
            self._tokens(value)
        elif kind is dict:
            for key, item in value.items():
                self._tokens((key, item))
        elif kind in (set, frozenset):
            self._text(*sorted(map(self._member, value)))
        elif isinstance(value, ModuleType):
            self._module(value)
        elif isinstance(value, type):
            self._class(value)
        elif kind is FunctionType:
            self._function(value)
        elif kind is CodeType:
            self._code(value)
        elif kind is MethodType:
            self._method(value)
        elif kind in (classmethod, staticmethod):
            self._tokens((value.__func__,))
        elif kind is property:
            self._tokens((value.fget, value.fset, value.fdel))
        elif kind in (MemberDescriptorType, GetSetDescriptorType):
            self._text(value.__qualname__)
        elif kind is BuiltinFunctionType:
            self._builtin(value)
        else:
            self._instance(value)

    def _member(self, value: Any) -> str:
        """A member of a set, independently of its order."""
        return self._token(value) if type(value) in _ATOMS else data_digest(value)

    # Code.

    def _class(self, owner: type) -> None:
        if self._only_data or not self._is_own(owner.__module__):
            self._foreign(owner, owner.__module__)
            return
        self._text("class", owner.__qualname__)
        self._tokens(owner.__bases__)
        if type(owner) is not type and self._is_own(type(owner).__module__):
            self._tokens((type(owner),))
        for name, value in sorted(vars(owner).items(), key=lambda item: item[0]):
            # The interpreter's own entries, as `__dict__` and `__firstlineno__`, are no functions.
            is_special = name.startswith("__") and name.endswith("__")
            if name == "_abc_impl" or (
                is_special and not isinstance(value, FunctionType | classmethod | staticmethod)
            ):
                continue
            self._text(name)
            self._tokens((value,))
            self._place(owner, name, value, f"{owner.__qualname__}.{name}")

    def _function(self, function: FunctionType) -> None:
        names = function.__globals__
        module = names.get("__name__", function.__module__)
        if self._only_data:
            self._foreign(function, module)
            return
        if not self._is_own(module):
            self._foreign(function, module)
            # A decorator of a package keeps the user's function.
            self._tokens(filter(self._is_own_code, _cells(function)))
            self._tokens(filter(self._is_own_code, vars(function).values()))
            return
        self._tokens((function.__code__, function.__defaults__, function.__kwdefaults__))
        where = function.__qualname__
        modules: dict[str, Any] = {}
        for number, value in enumerate(function.__defaults__ or ()):
            self._place(function.__defaults__, str(number), value, f"a default of {where}")
        for name, value in vars(function).items():
            self._text(name)
            self._tokens((value,))
            self._place(vars(function), name, value, f"{where}.{name}")
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=False
        ):
            try:
                content = cell.cell_contents
            except ValueError:
                self._text("empty")
                continue
            if isinstance(content, ModuleType):
                modules[name] = content
                continue
            self._tokens((content,))
            self._note_source("", content)
            self._place(cell, name, content, f"`{name}` around {where}")
        found = uses(function.__code__)
        for chain in sorted(found.free):
            if chain[0] in modules:
                self._chain(modules, chain)
        self.assigned |= found.assigned
        self.read |= found.read
        for chain in sorted(found.chains):
            self._chain(names, chain)
        for name, level, listed in sorted(found.imports):
            self._import(names, name, level, listed, found.read)

    def _is_own_code(self, value: Any) -> bool:
        if isinstance(value, FunctionType):
            return self._is_own(value.__globals__.get("__name__"))
        return isinstance(value, type) and self._is_own(value.__module__)

    def _chain(self, names: dict[str, Any], chain: Chain) -> None:
        """A global and its attributes: of modules the attribute counts, not all of the module."""
        first, *attributes = chain
        if first not in names:
            if first in _UNKNOWN and hasattr(builtins, first):
                self.uncovered.add(_UNKNOWN[first])
            elif not hasattr(builtins, first):
                # A hook may set it.
                self._place(names, first, ABSENT, f"{names.get('__name__', '')}.{first}")
            return
        value = names[first]
        self._place(names, first, value, f"{names.get('__name__', '')}.{first}")
        dotted = first
        while isinstance(value, ModuleType) and attributes:
            name = attributes.pop(0)
            try:
                # A package may load its modules at their first use.
                inner = getattr(value, name)
            except Exception:  # noqa: BLE001 - the module's own code may fail in any way
                break
            dotted = f"{value.__name__}.{name}"
            if self._is_own(value.__name__):
                self._text(dotted)
                self._place(vars(value), name, inner, dotted)
            value = inner
        if isinstance(value, type) and attributes:
            # Clocks of the library may be methods of classes: datetime.datetime.now.
            self._note_source(f"{value.__module__}.{value.__qualname__}.{attributes[0]}", None)
        self._note_source(dotted, value)
        self._text(*chain)
        self._tokens((value,))

    def _note_source(self, dotted: str, value: Any) -> None:
        if dotted in _CLOCKS or dotted.startswith("secrets."):
            self.varying.add(dotted)
        if dotted in _UNKNOWN_OF_MODULES:
            self.uncovered.add(_UNKNOWN_OF_MODULES[dotted])
        module, name = getattr(value, "__module__", None), getattr(value, "__name__", "")
        if f"{module}.{name}" in _CLOCKS:
            self.varying.add(f"{module}.{name}")
        library = _generator_of(getattr(value, "__self__", None))
        if library:
            self.varying.add(f"{library}.{name}")

    def _import(
        self,
        names: dict[str, Any],
        name: str,
        level: int,
        listed: tuple[str, ...],
        read: frozenset[str],
    ) -> None:
        """An import inside of a function. A module of the user is loaded, as the hook would do."""
        try:
            full = importlib.util.resolve_name("." * level + name, names.get("__package__") or "")
            spec = None if full in sys.modules else importlib.util.find_spec(full)
            is_known = full in sys.modules
            if not is_known and (spec is None or not is_own_file(spec.origin)):
                self._text("import", full)
                return
            module = importlib.import_module(full)
        except Exception:  # noqa: BLE001 - the import of a user's module may fail in any way
            self._text("import", name, "fails")
            self.uncovered.add(f"imports `{name}`, which cannot be imported here")
            return
        self._text("import", full)
        top = sys.modules[full.partition(".")[0]]
        # Names in the code that the module has; all of it if it has none of them.
        wanted = listed or tuple(sorted(read.intersection(vars(module))))
        base = module if listed else top
        if wanted and (module is base or not listed):
            for item in wanted:
                path = (item,) if listed or base is module else (*full.split(".")[1:], item)
                self._chain({"__name__": "import", base.__name__: base}, (base.__name__, *path))
        else:
            self._tokens((module,))

    def _code(self, code: CodeType) -> None:
        self._text(code.co_code.hex(), getattr(code, "co_exceptiontable", b"").hex())
        self._text(code.co_flags, code.co_argcount, code.co_kwonlyargcount)
        self._text(*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars)
        self._tokens(code.co_consts)

    def _module(self, module: ModuleType) -> None:
        name = module.__name__
        if self._only_data or not self._is_own(name):
            self._text("foreign", name, version(name))
            return
        self._text("module", name)
        compiled = extension_file(module)
        if compiled is not None:
            self._text(_file_digest(compiled))
            return
        for key, value in sorted(vars(module).items(), key=lambda item: item[0]):
            if not (key.startswith("__") and key.endswith("__")):
                self._text(key)
                self._tokens((value,))
                self._place(vars(module), key, value, f"{name}.{key}")

    def _builtin(self, value: Any) -> None:
        owner = value.__self__
        self._text(value.__name__)
        if owner is None or isinstance(owner, ModuleType):
            module = value.__module__
            self._text(module)
            library = sys.modules.get(module or "")
            if library is not None and self._is_own(module):
                self._tokens((library,))
        elif not _generator_of(owner):
            self._tokens((owner,))

    def _method(self, value: MethodType) -> None:
        self._tokens((value.__func__,))
        if not _generator_of(value.__self__):
            self._tokens((value.__self__,))

    # Data.

    def _instance(self, value: Any) -> None:
        """Any other object, by what a copy of it would be made from."""
        kind = type(value)
        if kind.__module__.partition(".")[0] == "numpy" and hasattr(value, "tobytes"):
            self._text(value.dtype, value.shape)
            if value.dtype.hasobject:
                self._tokens((value.tolist(),))
            else:
                self._text(hashlib.blake2b(value.tobytes()).hexdigest())
            return
        wrapped = getattr(value, "__wrapped__", None)
        if callable(wrapped):
            self._tokens((wrapped,))
        try:
            parts = value.__reduce_ex__(4)
        except Exception:  # noqa: BLE001 - objects without a copy raise anything
            parts = None
        if isinstance(parts, tuple):
            self._tokens(parts[:3])
            for items in parts[3:5]:
                self._tokens(() if items is None else (list(items),))
        elif isinstance(parts, str):
            self._foreign(value, getattr(value, "__module__", kind.__module__))
        elif hasattr(value, "__dict__"):
            self._tokens((kind, vars(value)))
        else:
            self._foreign(kind, kind.__module__)
            if not callable(wrapped) and f"{kind.__module__}.{kind.__qualname__}" not in _STATELESS:
                self.uncovered.add(f"uses an object of the type {kind.__qualname__}")

    def _place(self, owner: Any, name: str, value: Any, label: str) -> None:
        """Notes data that connections share."""
        # Functions, properties and parameters have `__get__`.
        is_code = isinstance(value, type | ModuleType | CodeType | BuiltinFunctionType | MethodType)
        if self._only_data or is_code or hasattr(type(value), "__get__"):
            return
        self.places.setdefault((id(owner), name), Place(owner, name, label))


# They have no data.
_STATELESS = {"_thread.lock", "_thread.RLock"}


def _generator_of(owner: Any) -> str:
    """The module whose functions draw from this generator, which the whole process shares."""
    if owner is None:
        return ""
    if owner is getattr(random.random, "__self__", None):
        return "random"
    numpy = sys.modules.get("numpy.random")
    is_numpy = numpy is not None and owner is getattr(numpy.rand, "__self__", None)
    return "numpy.random" if is_numpy else ""


def _cells(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue


def is_own_file(origin: str | None) -> bool:
    """Returns whether a module that is not loaded yet is the user's own, by its file."""
    return origin is not None and Path(origin).is_file() and not is_installed(origin)


@functools.lru_cache(maxsize=256)
def _file_digest(path: str) -> str:
    return hashlib.blake2b(Path(path).read_bytes(), digest_size=8).hexdigest()
