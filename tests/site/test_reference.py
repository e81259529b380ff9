"""The API reference: everything public is in it, with what it takes and what it raises."""

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("griffe")

import griffe
from completed import Completed, entries, section
from reference import API_PAGES, parts_by_name, public_names

ROOT = Path(__file__).parents[2]

BY_NAME = [page.by_name for page in API_PAGES if page.by_name]
OF_FRAMEWORKS = ("_", "test_", "pytest_", "on_")
"""Methods that pytest or somebody else's trainer calls, with arguments of theirs."""
NO_ERROR_OF_INPUT = ("NotImplementedError", "AttributeError")


@pytest.fixture(scope="module")
def package() -> Any:
    return griffe.load(
        "lengthwise",
        search_paths=[ROOT / "src"],
        docstring_parser="google",
        extensions=griffe.load_extensions(Completed()),
    )


def shown(package: Any, path: str) -> Any:
    part = package[path]
    return part.final_target if part.is_alias else part


def text(part: Any) -> str:
    return part.docstring.value if part.docstring else ""


def taken(function: Any) -> list[str]:
    names = [one.name for one in function.parameters]
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


def raised(function: Any) -> set[str]:
    """Names of the errors that a function raises itself, by `require` or by `raise`."""
    found = set()
    (tree,) = ast.parse(textwrap.dedent(function.source)).body or [ast.Pass()]
    waiting = list(ast.iter_child_nodes(tree))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue  # raised when that is called
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            found.add(ast.unparse(node.exc.func))
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called == "require_live":
                found.add("AveragingError")
            elif called.startswith("require"):
                found.add("InputError")
    return {name for name in found if name not in NO_ERROR_OF_INPUT}


def lacks_of_function(function: Any) -> Iterator[str]:
    said = text(function)
    if not said:
        yield f"{function.path}: docstring"
        return
    if "property" not in function.labels:
        for name in taken(function):
            if name not in entries(section(said, "Args")):
                yield f"{function.path}: Args: {name}"
    returns = str(function.returns or "None")
    if returns != "None" and not (section(said, "Returns") or section(said, "Yields")):
        yield f"{function.path}: Returns"
    for name in raised(function):
        if name not in section(said, "Raises"):
            yield f"{function.path}: Raises: {name}"


def lacks_of_class(kind: Any) -> Iterator[str]:
    line = [kind, *kind.mro()]
    if not text(kind):
        yield f"{kind.path}: docstring"
    yield from lacks_of_making(kind, line)
    for member in kind.members.values():
        if member.is_alias or member.name.startswith(OF_FRAMEWORKS):
            continue
        if member.is_function:
            yield from lacks_of_function(member)
        elif "property" in member.labels and not any(
            text(one.members[member.name]) for one in line if member.name in one.members
        ):
            yield f"{member.path}: docstring"


def lacks_of_making(kind: Any, line: list[Any]) -> Iterator[str]:
    """What is not said of the values that make an object: of its class or of a base class."""
    makers = [one.members[n] for one in line for n in ("__init__",) if n in one.members]
    said = [text(part) for part in (*line, *(one for one in makers if one.is_function))]
    documented = {name for one in said for name in entries(section(one, "Args"))}
    documented |= {n for one in line for n, m in one.members.items() if not m.is_alias and text(m)}
    made = kind.members.get("__init__")
    if "dataclass" in kind.labels:
        fields = [m for m in kind.members.values() if m.is_attribute and m.annotation is not None]
        names = [m.name for m in fields if "ClassVar" not in str(m.annotation)]
        names = [name for name in names if "property" not in kind.members[name].labels]
    else:
        names = taken(made) if made is not None and made.is_function else []
    for name in names:
        if not name.startswith("_") and name not in documented:
            yield f"{kind.path}: Args: {name}"
    for method in ("__init__", "__post_init__"):
        function = kind.members.get(method)
        if function is not None and function.is_function:
            for name in raised(function):
                if name not in section(text(kind), "Raises") + section(text(function), "Raises"):
                    yield f"{kind.path}: Raises: {name}"


def test_everything_public_says_what_it_takes_gives_and_raises(package: Any) -> None:
    by_name = {f"{one}.{kind}" for one in BY_NAME for _, _, kind, _ in parts_by_name(one)}
    lacks: list[str] = []
    checked = 0
    for page in API_PAGES:
        for module in page.modules:
            for name in public_names(module):
                path = f"{module}.{name}"
                if path in by_name:
                    continue
                part = shown(package, path)
                checked += 1
                if part.is_function:
                    lacks += lacks_of_function(part)
                elif part.is_class and module == "testing":
                    lacks += [] if text(part) else [f"{path}: docstring"]  # its methods are tests
                elif part.is_class:
                    lacks += lacks_of_class(part)
                elif not text(part):
                    lacks.append(f"{path}: docstring")
    assert checked > 200
    assert lacks == []


@pytest.mark.parametrize("package_name", BY_NAME)
def test_every_part_with_a_name_explains_itself_and_its_options(
    package: Any, package_name: str
) -> None:
    lacks = []
    found = list(parts_by_name(package_name))
    assert len({name for name, *_ in found}) == len(found) > 5
    for name, module, kind, fields in found:
        part = shown(package, f"{module}.{kind}")
        line = [part, *part.mro()]
        made = part.members.get("__init__")
        options = fields
        if made is not None and made.is_function and "dataclass" not in part.labels:
            options = [one for one in taken(made) if one != "shape"]
        makers = [one.members["__init__"] for one in line if "__init__" in one.members]
        said = "\n\n".join(text(one) for one in (*line, *makers))
        if not text(part):
            lacks.append(f"{name}: docstring")
        for option in options:
            field = part.members.get(option)
            documented = field is not None and text(field)
            if not documented and not re.search(rf"`{option}\b|^ +{option}: ", said, re.MULTILINE):
                lacks.append(f"{name}: {option}")
    assert lacks == []


def test_what_documents_import_is_in_the_reference() -> None:
    """Names that a page, the README or an example takes from a module are public there."""
    public = {f"lengthwise.{m}": set(public_names(m)) for page in API_PAGES for m in page.modules}
    public["lengthwise"] = set(public_names(""))
    for package_name in BY_NAME:
        for _, module, kind, _ in parts_by_name(package_name):
            public.setdefault(f"lengthwise.{module}", set()).add(kind)
    files = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.py")]
    missing = set()
    seen = 0
    for file in files:
        code = file.read_text(encoding="utf-8")
        snippets = (
            re.findall(r"```python\n(.*?)```", code, re.DOTALL) if file.suffix == ".md" else [code]
        )
        for snippet in snippets:
            for node in ast.walk(ast.parse(snippet)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                    "lengthwise"
                ):
                    for one in node.names:
                        seen += 1
                        if one.name not in public.get(node.module or "", set()):
                            missing.add(f"{node.module}.{one.name} ({file.name})")
    assert seen > 100
    assert missing == set()


def test_a_gap_is_named(tmp_path: Path) -> None:
    """The test above would see one: here are some of each kind."""
    (tmp_path / "gaps.py").write_text(
        textwrap.dedent('''
        def one(length, *, seed=0) -> int:
            """It is short.

            Args:
                length: How long.
            """
            require(length > 0, "length", length, "more")

        class Two:
            """Two."""

            def __init__(self, width):
                pass

            def bare(self):
                pass

        class Three(Two):
            """Three."""

            def bare(self):
                """Said here."""
        ''')
    )
    package = griffe.load(
        "gaps", search_paths=[tmp_path], extensions=griffe.load_extensions(Completed())
    )
    assert list(lacks_of_function(package["one"])) == [
        "gaps.one: Args: seed",
        "gaps.one: Raises: InputError",
    ]
    assert list(lacks_of_class(package["Two"])) == [
        "gaps.Two: Args: width",
        "gaps.Two.bare: docstring",
    ]
    assert list(lacks_of_class(package["Three"])) == []
