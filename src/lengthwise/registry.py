"""Tasks, models and remedies by name, or by the path of a user's own Python file.

A class is known by the decorator above it: `@remedy("alibi")`. Which names the package has is read
out of its files without importing them, so a list of names needs no torch, and a new part is one
new file. A user's file is run once and known from then on by its name and a digest of its text
(`mine.py@1a2b3c4d`). The text travels inside run folders and to other machines, so that neither a
resumed run nor a worker needs the file.
"""

import ast
import hashlib
import importlib
import importlib.util
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from lengthwise.errors import InputError, require_name
from lengthwise.files import read_text
from lengthwise.trust import trust

Part = TypeVar("Part")


@dataclass(frozen=True)
class Listed:
    """A class of the package, as its file shows it."""

    name: str
    module: str
    kind: str
    summary: str
    """The first line of its docstring."""


@dataclass(frozen=True)
class UserFile:
    """A Python file of the user's that was run."""

    name: str
    text: str
    module: types.ModuleType

    @property
    def key(self) -> str:
        """Its name with a digest of its text."""
        return f"{self.name}@{hashlib.sha256(self.text.encode()).hexdigest()[:8]}"


_FILES: dict[str, UserFile] = {}
_RUNNING: list[UserFile] = []
_SENT: dict[str, str] = {}


class Registry(Generic[Part]):
    """Classes of one kind by their names."""

    def __init__(self, kind: str, package: str) -> None:
        """Look for `@KIND("name")` in the files of `package`."""
        self.kind = kind
        self.package = package
        self._classes: dict[str, type[Part]] = {}

    def register(self, name: str) -> Callable[[type[Part]], type[Part]]:
        """The decorator that makes a class known by `name`.

        Raises:
            InputError: The package has another class of that name.
        """

        def decorate(cls: type[Part]) -> type[Part]:
            cls.name = name  # type: ignore[attr-defined]
            if not cls.__module__.startswith(_MODULE):
                own = cls.__module__.startswith(f"{self.package}.")
                if name in self.listed() and not own:
                    raise InputError(f"{self.kind} = {name!r}: expected a name that is not taken")
                self._classes[name] = cls
            return cls

        return decorate

    @cache  # noqa: B019 - there is one registry per kind, and it lives as long as the process
    def listed(self) -> dict[str, Listed]:
        """All names of the package with what their files say, without importing them."""
        folder = _folder(self.package)
        found = (one for path in sorted(folder.glob("[!_]*.py")) for one in self._scan(path))
        return {one.name: one for one in found}

    def names(self) -> list[str]:
        """All names that are known here."""
        return sorted({*self.listed(), *self._classes})

    def key(self, name: str) -> str:
        """`name` itself, or the key of the user's file that is meant.

        That is the file whose path is given, or the one that is being run and has defined a class
        of that name.
        """
        if name.endswith(".py"):
            return load_file(Path(name)).key
        for file in reversed(_RUNNING):
            if name in (cls.name for cls in self._defined(file)):  # type: ignore[attr-defined]
                return file.key
        return name

    def get(self, name: str) -> type[Part]:
        """The class of that name, out of the file of that path, or of that key.

        Raises:
            InputError: There is none; the message has the nearest name.
        """
        if not isinstance(name, str):
            raise InputError(f"{self.kind} = {name!r}: expected a name or the path of a .py file")
        key = self.key(name)
        if key in _FILES:
            return self._only(_FILES[key])
        if key not in self._classes:
            require_name(key, self.names(), self.kind)
            importlib.import_module(self.listed()[key].module)
        return self._classes[key]

    def key_of(self, cls: type[Any]) -> str:
        """The name or key by which another process can find `cls`.

        Raises:
            InputError: It was defined in a place that cannot be read again, such as a notebook.
        """
        for file in _FILES.values():
            if cls in self._defined(file):
                return file.key
        name: str = getattr(cls, "name", cls.__name__)
        if name in self.listed() and self.get(name) is cls:
            return name
        raise InputError(
            f"{self.kind} = {name!r}: cannot be kept: expected one of the package, or one of a "
            f"Python file, given by its path"
        )

    def _only(self, file: UserFile) -> type[Part]:
        found = self._defined(file)
        if len(found) == 1:
            return found[0]
        what = f"{len(found)} of them" if found else "none"
        raise InputError(
            f"{self.kind} = {file.name!r}: expected a file with one class under "
            f'@{self.kind}("NAME"), found {what}'
        )

    def _defined(self, file: UserFile) -> list[type[Part]]:
        """The classes of this kind that a user's file defines."""
        base = importlib.import_module(f"{self.package}._base")
        kind = getattr(base, self.kind.capitalize())
        return [
            value
            for value in vars(file.module).values()
            if isinstance(value, type)
            and issubclass(value, kind)
            and value.__module__ == file.module.__name__
            and "name" in vars(value)
        ]

    def _scan(self, path: Path) -> Iterator[Listed]:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.ClassDef):
                continue
            for mark in node.decorator_list:
                match mark:
                    case ast.Call(func=ast.Name(id=self.kind), args=[ast.Constant(value=name)]):
                        module = f"{self.package}.{path.stem}"
                        summary = (ast.get_docstring(node) or "").split("\n")[0]
                        yield Listed(str(name), module, node.name, summary)


_MODULE = "lengthwise_file_"


def load_file(path: Path) -> UserFile:
    """Run the Python file at `path`, once per content.

    Raises:
        InputError: It cannot be read, or fails; the message says how.
    """
    text = _SENT.get(path.name)
    return load_text(path.name, read_file(path) if text is None else text)


def read_file(path: Path) -> str:
    """The text of the Python file at `path`, which is trusted from now on, or an `InputError`."""
    try:
        text = read_text(path)
        trust(text)
        return text
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"file = {str(path)!r}: expected a Python file ({reason})") from error


def load_text(name: str, text: str) -> UserFile:
    """Run the text of a Python file as a module of its own; `name` is for messages and keys."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    module = types.ModuleType(f"{_MODULE}{digest}")
    file = UserFile(name, text, module)
    if file.key in _FILES:
        return _FILES[file.key]
    # Classes look for the module they were defined in, dataclasses already while they are made.
    sys.modules[module.__name__] = module
    _FILES[file.key] = file
    try:
        with running(file):
            exec(compile(text, name, "exec"), module.__dict__)
    except BaseException as error:
        del _FILES[file.key]
        if isinstance(error, InputError):
            raise InputError(f"{name}: {error}") from error
        if isinstance(error, Exception | SystemExit):
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            raise InputError(f"file = {name!r}: {reason}") from error
        raise
    return file


def blamed(error: BaseException) -> str | None:
    """In one line, what a user's file did wrong; None if no such file was run.

    It is the file that the error came out of. An error elsewhere comes from what a file gave us, as
    parts of the package are tested together: then the last file that was run is named.
    """
    if not _FILES:
        return None
    names = {file.module.__name__: file.name for file in _FILES.values()}
    file, place = next(reversed(_FILES.values())).name, ""
    step = error.__traceback__
    while step is not None:
        frame = step.tb_frame
        own = names.get(frame.f_globals.get("__name__", ""))
        if own is not None:
            file, place = own, f"line {step.tb_lineno}: "
        last = f" (at {Path(frame.f_code.co_filename).name}, line {step.tb_lineno})"
        step = step.tb_next
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return f"file = {file!r}: {place}{reason}{'' if place else last}"


@contextmanager
def running(file: UserFile) -> Iterator[None]:
    """Inside, the name of a class that `file` defines means that class, as while it is run."""
    _RUNNING.append(file)
    try:
        yield
    finally:
        _RUNNING.pop()


def files_of(keys: Iterable[str]) -> dict[str, str]:
    """The texts of the user's files among `keys`, by key: what another process needs."""
    return {key: _FILES[key].text for key in keys if key in _FILES}


def load_files(files: dict[str, str]) -> None:
    """Make files known that `files_of` gave; they are run, so whoever calls this trusts them."""
    with sent(files):
        for key, text in files.items():
            loaded = load_text(key.rpartition("@")[0], text)
            if loaded.key != key:
                expected = "expected one with that digest"
                raise InputError(f"file = {key!r}: its text is damaged: {expected}")


@contextmanager
def sent(files: dict[str, str]) -> Iterator[None]:
    """Take files that `files_of` gave for those of the same name, wherever a path is given.

    What another process sends may name its files by paths that are not there, or no longer lead to
    the same text.
    """
    before = dict(_SENT)
    _SENT.update({key.rpartition("@")[0]: text for key, text in files.items()})
    try:
        yield
    finally:
        _SENT.clear()
        _SENT.update(before)


def _folder(package: str) -> Path:
    specification = importlib.util.find_spec(package)
    assert specification is not None
    assert specification.origin is not None
    return Path(specification.origin).parent


TASKS: Registry[Any] = Registry("task", "lengthwise.tasks")
MODELS: Registry[Any] = Registry("model", "lengthwise.models")
REMEDIES: Registry[Any] = Registry("remedy", "lengthwise.remedies")
