"""Describe the public API from its source: names, bases, signatures, fields and docstrings.

The source is read and not imported, so the description is the same in every version of Python and shows types as they
are written. `tests/api/test_public_api.py` compares it with a snapshot; `docs/reference.md` is made of it.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
MODULES = ("dogubako", "dogubako.output", "dogubako.errors", "dogubako.tools", "dogubako.testing")

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
# Methods with underscores that are part of a class's interface.
_SPECIAL_METHODS = ("__init__", "__call__")


@dataclass(frozen=True, kw_only=True)
class Described:
    """One name: its declaration as written, what its docstring or comment says, and the members of a class."""

    name: str
    declaration: str
    text: str
    members: tuple["Described", ...] = ()


@dataclass(frozen=True, kw_only=True)
class Source:
    """A parsed module."""

    name: str
    text: str
    tree: ast.Module

    def segment(self, node: ast.AST) -> str:
        return cleandoc(ast.get_source_segment(self.text, node) or "")

    def head(self, node: FunctionNode) -> str:
        """A function's signature as it is written, without its body and without comments."""
        body = node.body[0]
        lines = self.text.splitlines()[node.lineno - 1 : body.lineno]
        lines[-1] = lines[-1].encode()[: body.col_offset].decode()
        written = [line for line in lines if not line.strip().startswith("#")]
        return cleandoc("\n".join(written)).rstrip().removesuffix(":")

    def comment_above(self, node: ast.AST) -> str:
        """The comment lines directly above a field."""
        lines = self.text.splitlines()
        found: list[str] = []
        for line in reversed(lines[: int(getattr(node, "lineno", 1)) - 1]):
            if not line.strip().startswith("#"):
                break
            found.insert(0, line.strip().removeprefix("#").strip())
        return " ".join(found)


@cache
def source_of(module: str) -> Source:
    base = SOURCE / module.replace(".", "/")
    path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    text = path.read_text(encoding="utf-8")
    return Source(name=module, text=text, tree=ast.parse(text))


def public_names(module: str) -> list[str]:
    """The names in `__all__`."""
    for node in source_of(module).tree.body:
        if isinstance(node, ast.Assign) and _target(node) == "__all__":
            return list(ast.literal_eval(node.value))
    raise LookupError(f"{module} has no __all__")


def module_docstring(module: str) -> str:
    return ast.get_docstring(source_of(module).tree) or ""


def describe_module(module: str) -> list[Described]:
    return [describe(module, name) for name in public_names(module)]


def describe(module: str, name: str) -> Described:
    """Follow the imports of `name` to where it is defined, and describe that."""
    source, nodes = _definition(module, name)
    last = nodes[-1]
    if isinstance(last, ast.ClassDef):
        members = tuple(_members(source, last))
        return Described(name=name, declaration=_class_line(source, last), text=_doc(last), members=members)
    if isinstance(last, FunctionNode):
        shown = [one for one in nodes if _is_overload(one)] or nodes
        declaration = "\n".join(_signature(source, one) for one in shown if isinstance(one, FunctionNode))
        return Described(name=name, declaration=declaration, text=_doc(last))
    value = "__version__: str" if name == "__version__" else source.segment(last)
    return Described(name=name, declaration=value, text=source.comment_above(last))


def _definition(module: str, name: str) -> tuple[Source, list[ast.stmt]]:
    source = source_of(module)
    statements = [one for one in source.tree.body if _defines(one, name)]
    if statements:
        return source, statements
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and any((one.asname or one.name) == name for one in node.names):
            return _definition(str(node.module), name)
    raise LookupError(f"{module} does not define {name}")


def _defines(node: ast.stmt, name: str) -> bool:
    if isinstance(node, ast.ClassDef | FunctionNode):
        return node.name == name
    return isinstance(node, ast.Assign | ast.AnnAssign) and _target(node) == name


def _target(node: ast.stmt) -> str:
    """The single name that an assignment binds; nothing for other statements."""
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return target.id if isinstance(target, ast.Name) else ""


def _class_line(source: Source, node: ast.ClassDef) -> str:
    bases = [source.segment(one) for one in node.bases]
    bases += [f"{one.arg}={source.segment(one.value)}" for one in node.keywords if one.arg]
    inherits = f"({', '.join(bases)})" if bases else ""
    return "\n".join([*_decorators(source, node), f"class {node.name}{inherits}"])


def _members(source: Source, node: ast.ClassDef) -> Iterator[Described]:
    for one in node.body:
        if isinstance(one, ast.AnnAssign | ast.Assign) and (name := _target(one)) and not name.startswith("_"):
            text = source.comment_above(one) or _field_description(one)
            yield Described(name=name, declaration=source.segment(one), text=text)
        elif isinstance(one, FunctionNode) and (not one.name.startswith("_") or one.name in _SPECIAL_METHODS):
            yield Described(name=one.name, declaration=_signature(source, one), text=_doc(one))
            if one.name == "__init__":
                yield from _instance_attributes(source, one)


def _field_description(node: ast.AnnAssign | ast.Assign) -> str:
    """The `description` of a pydantic field."""
    keywords = node.value.keywords if isinstance(node.value, ast.Call) else []
    return next((str(ast.literal_eval(one.value)) for one in keywords if one.arg == "description"), "")


def _instance_attributes(source: Source, init: FunctionNode) -> Iterator[Described]:
    """The attributes that `__init__` annotates: `self.logs: list[str] = []`."""
    for node in ast.walk(init):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute):
            name = node.target.attr
            if not name.startswith("_"):
                declaration = f"{name}: {source.segment(node.annotation)}"
                yield Described(name=name, declaration=declaration, text=source.comment_above(node))


def _signature(source: Source, node: FunctionNode) -> str:
    return "\n".join([*_decorators(source, node), source.head(node)])


def _decorators(source: Source, node: ast.ClassDef | FunctionNode) -> list[str]:
    return [f"@{source.segment(one)}" for one in node.decorator_list]


def _is_overload(node: ast.stmt) -> bool:
    return isinstance(node, FunctionNode) and any(
        isinstance(one, ast.Name) and one.id == "overload" for one in node.decorator_list
    )


def _doc(node: ast.ClassDef | FunctionNode) -> str:
    return ast.get_docstring(node) or ""


def snapshot() -> str:
    """The whole public API as text, without docstrings."""
    return "\n".join(_module_snapshot(module) for module in MODULES)


def _module_snapshot(module: str) -> str:
    parts = [_indented(one) for one in describe_module(module)]
    return f"# {module}\n\n" + "\n\n".join(parts) + "\n"


def _indented(one: Described) -> str:
    members = [f"    {line}" for member in one.members for line in member.declaration.splitlines()]
    return "\n".join([one.declaration, *members])
