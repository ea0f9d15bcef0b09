"""The shape of a source tree in figures: ``python -m qa.structure [SRC]``.

A line for each package: its lines of code, modules and public names (of modules whose own names are public: classes,
functions and constants without a leading underscore).  Below: the packages and modules that import each other in a
circle, late imports included, and class names that stand for more than one class.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src"


@dataclass(frozen=True, slots=True)
class Module:
    """One file: ``package`` is the first name below the top package, or the file's own where it is in none."""

    name: str
    package: str
    lines: int
    tree: ast.Module


def modules(root: Path, top: str = "anabranch") -> list[Module]:
    """All of a tree, in order of their names."""
    found = []
    for path in sorted((root / top).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        text = path.read_text(encoding="utf-8")
        package = parts[1] if len(parts) > 1 else top
        found.append(Module(".".join(parts), package, len(text.splitlines()), ast.parse(text)))
    return found


def public_names(module: Module) -> list[str]:
    """What a module defines for others."""
    if any(part.startswith("_") for part in module.name.split(".")):
        return []
    names = []
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
    return [name for name in names if not name.startswith("_")]


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All of a module, however deep, but what is for types alone; expressions, nine in ten of its nodes, hold none."""
    ahead: list[ast.AST] = [tree]
    while ahead:
        node = ahead.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        for block in ("body", "orelse", "handlers", "finalbody", "cases"):
            ahead += getattr(node, block, ())
        yield node


def imports(module: Module, known: frozenset[str]) -> Iterator[str]:
    """The modules that it imports, once for each name; those for types alone are not imported."""
    for node in statements(module.tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            wider = (f"{node.module}.{one.name}" for one in node.names)
            names = [one if one in known else node.module for one in wider]
        yield from (one for one in names if one in known and one != module.name)


def circles(edges: Mapping[str, Counter[str]]) -> list[set[str]]:
    """Groups of modules, or of packages, of which each reaches each other one."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            for one in edges.get(ahead.pop(), ()):
                if one not in seen:
                    seen.add(one)
                    ahead.append(one)
        return seen

    reach = {one: reached(one) for one in edges}
    groups: list[set[str]] = []
    for one in sorted(edges):
        group = {other for other in reach[one] if one in reach.get(other, ())} | {one}
        if len(group) > 1 and group not in groups:
            groups.append(group)
    return groups


def _tell_circles(what: str, edges: Mapping[str, Counter[str]]) -> None:
    found = circles(edges)
    for group in found:
        inside = sum(edges[one][other] for one in group for other in group)
        print(f"circle of {len(group)} {what}, {inside} imports: {', '.join(sorted(group))}")
    if not found:
        print(f"no circle of {what}")


def main(root: Path = ROOT) -> int:
    """Print them."""
    found = modules(root)
    lines, counts, names = Counter[str](), Counter[str](), Counter[str]()
    packages: dict[str, Counter[str]] = defaultdict(Counter)
    edges: dict[str, Counter[str]] = defaultdict(Counter)
    of = {module.name: module.package for module in found}
    classes: dict[str, list[str]] = defaultdict(list)
    for module in found:
        lines[module.package] += module.lines
        counts[module.package] += 1
        names[module.package] += len(public_names(module))
        edges[module.name].update(imports(module, frozenset(of)))
        packages[module.package].update(
            of[other] for other in edges[module.name].elements() if of[other] != module.package
        )
        for node in statements(module.tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(module.name)
    print(f"{'package':<16} {'lines':>7} {'modules':>7} {'public names':>12}")
    for package, total in sorted(lines.items(), key=lambda item: -item[1]):
        print(f"{package:<16} {total:>7,} {counts[package]:>7} {names[package]:>12,}")
    print(f"{'all':<16} {lines.total():>7,} {counts.total():>7} {names.total():>12,}")
    _tell_circles("packages", packages)
    _tell_circles("modules", edges)
    twice = {name: where for name, where in classes.items() if len(where) > 1}
    print(f"class names of more than one class: {len(twice)}{': ' if twice else ''}{', '.join(sorted(twice))}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
