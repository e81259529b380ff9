"""A griffe extension that completes docstrings by what the code itself says.

A method that overrides another has the arguments and errors of that one unless it names its own,
and what a function returns is in its annotation. Everything else must be written:
tests/site/test_reference.py names what is missing.
"""

import ast
import re
from typing import Any

from griffe import (
    Attribute,
    Class,
    Docstring,
    ExprCall,
    Extension,
    Function,
    Module,
    Object,
)

_NOTHING = ("None", "NoReturn", "Never", "")


class Completed(Extension):
    """Adds `Args` and `Raises` of the overridden method, and `Returns` by annotation."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Complete every function once all files are read."""
        for part in parts(pkg):
            if isinstance(part, Class):
                describe_settings(part)
                for method in own_functions(part):
                    inherit(method, part)
        for part in parts(pkg):
            if isinstance(part, Class):
                add_refusal(part)
            functions = [part] if isinstance(part, Function) else []
            for function in functions or own_functions(part):
                add_returns(function)


def parts(module: Object) -> list[Any]:
    """All classes and functions of a module and of those below it."""
    found: list[Any] = []
    for member in module.members.values():
        if member.is_alias:
            continue
        if isinstance(member, Module | Class):
            found += [member] if isinstance(member, Class) else []
            found += parts(member)
        elif isinstance(member, Function) and isinstance(module, Module):
            found.append(member)
    return found


def own_functions(part: Object) -> list[Function]:
    """The methods that a class defines itself."""
    return [member for member in part.members.values() if isinstance(member, Function)]


def section(text: str, name: str) -> str:
    """The lines below a section's title, or "" if there is none."""
    found = re.search(rf"^{name}:\n((?:[ \t]+.*\n?|\n(?=[ \t]))+)", text, flags=re.MULTILINE)
    return found[1].rstrip() if found else ""


def describe_settings(owner: Class) -> None:
    """Fields made by `setting(default, help)` say what they are in their second argument."""
    for field in owner.members.values():
        value = field.value if isinstance(field, Attribute) else None
        if isinstance(value, ExprCall) and str(value.function) == "setting":
            help = ast.literal_eval(str(value.arguments[1]))
            field.docstring = Docstring(help, parent=field)  # type: ignore[arg-type]


def add_refusal(owner: Class) -> None:
    """Say of a class that it refuses values, where what makes it checks them."""
    makers = [owner.members.get(name) for name in ("__init__", "__post_init__")]
    checks = any(
        isinstance(maker, Function) and re.search(r"\brequire(_name)?\(", maker.source)
        for maker in makers
    )
    if checks and owner.docstring and not section(owner.docstring.value, "Raises"):
        refusal = "InputError: A value is refused; the message names it and what would be right."
        owner.docstring.value += f"\n\nRaises:\n    {refusal}"


def overridden(method: Function, owner: Class) -> Function | None:
    """The method of the nearest base class of this package that has a docstring."""
    for base in owner.mro():
        member = base.members.get(method.name)
        if isinstance(member, Function) and member.docstring:
            return member
    return None


def inherit(method: Function, owner: Class) -> None:
    """Give a method what the one that it overrides says of the same arguments, and its errors."""
    base = overridden(method, owner)
    if base is None or base.docstring is None:
        return
    inherit(base, base.parent)  # type: ignore[arg-type]
    if method.docstring is None:
        method.docstring = Docstring(base.docstring.value, parent=method)
        return
    text = method.docstring.value
    said = entries(section(text, "Args"))
    missing = {
        name: about
        for name, about in entries(section(base.docstring.value, "Args")).items()
        if name not in said and name in {one.name for one in method.parameters}
    }
    if missing:
        if said:
            return  # it names its arguments itself, and the test says which are missing
        text += "\n\nArgs:\n" + "\n".join(missing.values())
    raised = section(base.docstring.value, "Raises")
    if raised and not section(text, "Raises"):
        text += "\n\nRaises:\n" + raised
    method.docstring.value = text


def entries(lines: str) -> dict[str, str]:
    """The entries of a section, by name."""
    found: dict[str, str] = {}
    name = ""
    for line in lines.splitlines():
        begins = re.match(r"    \*{0,2}(\w+)(?: \([^)]*\))?:", line)
        if begins:
            name = begins[1]
            found[name] = line
        elif name:
            found[name] += f"\n{line}"
    return found


def add_returns(function: Function) -> None:
    """Say what a function returns, where its docstring leaves that to the first sentence."""
    if function.docstring is None or str(function.returns or "") in _NOTHING:
        return
    if function.name.startswith("_") or "property" in function.labels:
        return
    text = function.docstring.value
    if not any(section(text, name) for name in ("Returns", "Yields")):
        returns = str(function.returns)
        function.docstring.value = f"{text}\n\nReturns:\n    {returns}: As said above."
