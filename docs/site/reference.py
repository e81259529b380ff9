"""The API reference: which names are public, and the pages that mkdocstrings fills.

Files are read, not imported: what a module offers is its `__all__`, or else what it defines without
a leading underscore.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


@dataclass(frozen=True)
class ApiPage:
    """One page of the reference."""

    name: str
    about: str
    modules: tuple[str, ...]
    """Modules below `lengthwise`, of which all public names are explained."""
    by_name: str = ""
    """A package whose parts are known by name: each is listed with its fields, while the methods
    that all of them share are explained once, at the class that they inherit from."""


API_PAGES = (
    ApiPage("averaging", "EMA and BEMA for any training loop, and for other people's trainers", (
        "averaging", "averaging.hugging_face", "averaging.lightning", "averaging.post_hoc",
        "averaging.schedules",
    )),
    ApiPage("checking", "at which length a pretrained model breaks, why, and what mends it",
            ("checking",)),
    ApiPage("probing", "what attention does inside a Hugging Face model", ("probing",)),
    ApiPage("comparing", "every remedy x task x length under the same rules", ("comparing",)),
    ApiPage("claims", "claims of papers, verdicts and statistics", (
        "claims", "claims.readings", "papers",
    )),
    ApiPage("search", "thousands of small models, here or on a Ray cluster", (
        "search", "executors",
    )),
    ApiPage("training", "fleets, hyper-parameters, the trainer, and measures by length", (
        "training", "measures",
    )),
    ApiPage("runs", "recipes and folders that hold a training", ("runs", "runs.othello_reading")),
    ApiPage("tasks", "what models are trained on", ("tasks",), by_name="tasks"),
    ApiPage("models", "what is trained", ("models", "models.gpt"), by_name="models"),
    ApiPage("remedies", "what claims to carry a model further", ("remedies",), by_name="remedies"),
    ApiPage("theory", "theorems as checks and constructions", ("theory",)),
    ApiPage("othello", "random games and their boards", ("othello",)),
    ApiPage("report", "figures", ("report.style", "report.lengths", "report.boards")),
    ApiPage("testing", "suites that every part passes, for your own", ("testing",)),
    ApiPage("memory", "how a process that trains keeps what it frees", ("memory",)),
    ApiPage("randomness", "addressed random numbers, for tasks of your own", ("randomness",)),
    ApiPage("errors", "what bad input raises", ("errors",)),
)  # fmt: skip
"""All pages of the reference, in the order of the menu."""


def public_names(module: str) -> list[str]:
    """What a module offers: its `__all__`, or else what it defines without an underscore.

    Of constants only those are taken that have a docstring.

    Args:
        module: Its name below `lengthwise`; "" is the package itself.
    """
    tree = ast.parse(_file(module).read_text(encoding="utf-8"))
    defined: list[str] = []
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.append(node.name)
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Name) and target.id == "__all__" and node.value is not None:
            return [name for name in ast.literal_eval(node.value) if name != "__version__"]
        if isinstance(target, ast.Name) and _is_docstring(after):
            defined.append(target.id)
    return [name for name in defined if not name.startswith("_")]


def parts_by_name(package: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """Every class under a decorator such as `@task("parity")`.

    Args:
        package: "tasks", "models" or "remedies".

    Yields:
        Its name, the module and the class that define it, and the names of its public fields.
    """
    decorator = {"tasks": "task", "models": "model", "remedies": "remedy"}[package]
    for file in sorted((SOURCE / "lengthwise" / package).glob("[a-z]*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.ClassDef):
                continue
            for call in node.decorator_list:
                if isinstance(call, ast.Call) and ast.unparse(call.func) == decorator:
                    name = ast.literal_eval(call.args[0])
                    yield name, f"{package}.{file.stem}", node.name, _fields(node)


def written() -> Iterator[tuple[str, str]]:
    """The pages as Markdown, by name; "index" is the first."""
    index = ["# API reference", "", "`import lengthwise` gives what most people need:", ""]
    index += [f"- [`lengthwise.{name}`][lengthwise.{_home(name)}]" for name in public_names("")]
    index += ["", "Everything public, by subject:", ""]
    index += [f"- [{page.name}]({page.name}.md): {page.about}" for page in API_PAGES]
    yield "index", "\n".join([*index, ""])
    for page in API_PAGES:
        parts = [f"# {page.name}", "", f"*{page.about[0].upper()}{page.about[1:]}.*", ""]
        for module in page.modules:
            offered = public_names(module.rpartition(".")[0]) if "." in module else []
            names = [name for name in public_names(module) if name not in offered]
            parts += [_directive(module, names)]
        if page.by_name:
            parts += ["## By name", ""]
            offered = public_names(page.by_name)
            for name, module, kind, fields in parts_by_name(page.by_name):
                if kind in offered:
                    parts += [f"### {name}", "", f"[`{kind}`][lengthwise.{page.by_name}.{kind}]"]
                else:
                    parts += [f"### {name}", "", _directive(f"{module}.{kind}", fields, level=4)]
        yield page.name, "\n\n".join(parts)


def _directive(name: str, members: list[str], level: int = 2) -> str:
    listed = "".join(f"\n        - {member}" for member in members) if members else " false"
    options = f"    options:\n      heading_level: {level}\n      members:{listed}"
    return f"::: lengthwise.{name}\n{options}"


def _is_docstring(node: ast.stmt | None) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _fields(node: ast.ClassDef) -> list[str]:
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
    names = [one.target.id for one in fields if isinstance(one.target, ast.Name)]
    return [
        name
        for name, one in zip(names, fields, strict=True)
        if not name.startswith("_") and "ClassVar" not in ast.unparse(one.annotation)
    ]


def _home(name: str) -> str:
    """Where the reference has a name that `import lengthwise` gives."""
    for page in API_PAGES:
        for module in page.modules:
            if name in public_names(module):
                return f"{module}.{name}"
    raise LookupError(name)


def _file(module: str) -> Path:
    base = SOURCE / "lengthwise" / module.replace(".", "/") if module else SOURCE / "lengthwise"
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
