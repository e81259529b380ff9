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


def _files_of(package: str) -> tuple[str, ...]:
    """A package and its public files, in the order of their names."""
    files = sorted((SOURCE / "lengthwise" / package).glob("[a-z]*.py"))
    return (package, *(f"{package}.{file.stem}" for file in files))


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
    ApiPage("tasks", "what models are trained on", _files_of("tasks")),
    ApiPage("models", "what is trained", _files_of("models")),
    ApiPage("remedies", "what claims to carry a model further", _files_of("remedies")),
    ApiPage("theory", "theorems as checks and constructions", ("theory",)),
    ApiPage("othello", "random games and their boards", ("othello",)),
    ApiPage("report", "figures", ("report.style", "report.lengths", "report.boards")),
    ApiPage("testing", "suites that every part passes, for your own", ("testing",)),
    ApiPage("randomness", "addressed random numbers, for tasks of your own", ("randomness",)),
    ApiPage("errors", "what bad input raises", ("errors",)),
)  # fmt: skip
"""All pages of the reference, in the order of the menu."""


def public_names(module: str) -> list[str]:
    """What a module offers: its `__all__`, or else what it defines without an underscore.

    Args:
        module: Its name below `lengthwise`; "" is the package itself.
    """
    tree = ast.parse(_file(module).read_text(encoding="utf-8"))
    defined: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.append(node.name)
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        for target in targets:
            if isinstance(target, ast.Name) and target.id == "__all__":
                return [name for name in ast.literal_eval(node.value) if name != "__version__"]  # type: ignore[union-attr, arg-type]
            if isinstance(target, ast.Name):
                defined.append(target.id)
    return [name for name in defined if not name.startswith("_")]


def shown_names(module: str) -> list[str]:
    """What the reference shows of a module: its public names that its package does not offer."""
    package, _, file = module.rpartition(".")
    offered = public_names(package) if package and file else []
    return [name for name in public_names(module) if name not in offered]


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
            if names := shown_names(module):
                listed = "".join(f"\n        - {name}" for name in names)
                parts += [f"::: lengthwise.{module}", f"    options:\n      members:{listed}", ""]
        yield page.name, "\n".join(parts)


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
