"""What tests and harnesses wait for: limits that are not scaled, and sleeps that wait for no condition.

Programs that stand in a file as texts are looked at as well.

A limit is scaled where it comes from ``qa.timeouts``, and none of the file's where it comes from the product.  What is
found are literals, and constants of the tests that are literals, where something waits by them:

- an argument, or a parameter's default, that is named as a limit is (``timeout=30``, ``patience_s``, ``seconds``);
- an argument of what waits (``.wait(5)``, ``.join(5)``, ``asyncio.timeout(3)``), but for a pause of a loop, which looks
  again (``wait(0.1)`` in a ``while``), and a consumer's short ``poll`` that no ``assert`` is about;
- an argument in the place of such a parameter of a function of the tests that is named for its waiting;
- what is added to a clock or compared with how long something took.

A sleep is a pause where it is short, stands in a ``while`` that ends by a condition other than the clock, and no loop
is nearer.  ``asyncio.sleep(0)`` gives others a turn and waits for no time.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAUSE_S = 1.0
"""The longest that an event or a message is waited for between two looks."""
SLEEP_S = 0.5
"""The longest sleep between two looks."""
HANGS_S = 600.0
"""What sleeps for so long waits for nothing: it hangs, until it is killed."""
_LIMIT = re.compile(r"^seconds$|(^|_)(timeout|patience|deadline|within|limit_s|wait_s)(_s|_seconds)?$")
_WAITS = frozenset(
    (
        *("abort_transaction", "acquire", "commit_transaction", "communicate", "consume", "flush"),
        *("init_transactions", "join", "list_topics", "poll", "result", "select", "settimeout", "terminate"),
        *("timeout", "wait"),
    )
)
_LOOKS = frozenset(("consume", "poll"))
_OF_OTHERS = {"wait_for": 1}
_OWN = re.compile(r"^_*(await|until|wait|eventually)")
_OWN_DEFINED = re.compile(r"def _*(await|until|wait|eventually)")
_CLOCK = re.compile(r"\b(monotonic|perf_counter|time)\(\)")
_LOOPS = (ast.While, ast.For, ast.AsyncFor, ast.comprehension)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True, slots=True)
class Wait:
    """One place: ``where`` is the function, or the class, that it stands in, "" for the module."""

    path: str
    where: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} in {self.where or 'the module'}: {self.text}"


_PROGRAM = re.compile(r"^(import|from \S+ import) ", re.MULTILINE)


@dataclass(frozen=True)
class _File:
    path: str
    nodes: tuple[ast.AST, ...]
    parents: Mapping[ast.AST, ast.AST]
    constants: Mapping[str, ast.expr]

    @staticmethod
    def of(path: str, text: str) -> _File:
        tree = ast.parse(text)
        nodes: list[ast.AST] = [tree]
        parents: dict[ast.AST, ast.AST] = {}
        for node in nodes:  # which grows as it is walked
            children = list(ast.iter_child_nodes(node))
            parents |= dict.fromkeys(children, node)
            nodes += children
        return _File(path, tuple(nodes), parents, _constants(tree))

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self.parents:
            node = self.parents[node]
            yield node

    def wait(self, node: ast.AST, text: str | None = None) -> Wait:
        names = [one.name for one in self.above(node) if isinstance(one, (*_FUNCTIONS[:2], ast.ClassDef))]
        if isinstance(node, _FUNCTIONS[:2]):
            names.insert(0, node.name)
        return Wait(self.path, ".".join(reversed(names)), getattr(node, "lineno", 0), text or ast.unparse(node))

    def loop(self, node: ast.AST) -> ast.AST | None:
        """The nearest loop of the same function."""
        for one in self.above(node):
            if isinstance(one, _LOOPS):
                return one
            if isinstance(one, _FUNCTIONS):
                return None
        return None

    def number(self, node: ast.AST | None) -> float | None:
        """What a number is that is made of literals alone."""
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return float(value)
            case ast.Name(id=name) if name in self.constants:
                return self.number(self.constants[name])
            case ast.BinOp(left=left, right=right):
                one, other = self.number(left), self.number(right)
                return None if one is None or other is None else max(one, other)
            case ast.IfExp(body=one, orelse=other):
                return self.number(one) or self.number(other)
            case ast.Call(func=ast.Name(id="min" | "max" as name), args=args):
                numbers = [self.number(one) for one in args]
                known = [one for one in numbers if one is not None]
                if name == "min":
                    return min(known, default=None)
                return max(known) if len(known) == len(numbers) else None
        return None


@cache
def _constants_of(module: str) -> Mapping[str, ast.expr]:
    """Those of a module of the tests or harnesses."""
    file = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    known = module.split(".", maxsplit=1)[0] in ("tests", "qa") and file.is_file()
    return _constants(ast.parse(file.read_text(encoding="utf-8"))) if known else {}


def _constants(tree: ast.Module) -> Mapping[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name] = value
            case ast.ImportFrom(module=str(module), names=names, level=0):
                theirs = _constants_of(module) if module != "qa.timeouts" else {}
                found |= {one.asname or one.name: theirs[one.name] for one in names if one.name in theirs}
    return found


def unscaled(path: str, text: str) -> list[Wait]:
    """Waits by a limit that is not scaled."""
    file = _File.of(path, text)
    found = [one for node in file.nodes for one in _limits(file, node)]
    return _sorted(found, unscaled, file)


def _limits(file: _File, node: ast.AST) -> Iterator[Wait]:
    match node:
        case ast.Call():
            yield from _arguments(file, node)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            args = node.args
            positional = [*args.posonlyargs, *args.args]
            pairs = [*zip(reversed(positional), reversed(args.defaults), strict=False)]
            for arg, default in [*pairs, *zip(args.kwonlyargs, args.kw_defaults, strict=True)]:
                if _LIMIT.search(arg.arg) and file.number(default):
                    yield file.wait(node, f"{arg.arg}={ast.unparse(default) if default else ''}")
        case ast.BinOp(op=ast.Add(), left=left, right=right) | ast.Compare(left=left, comparators=[right]):
            if file.number(right) and _CLOCK.search(ast.unparse(left)):
                yield file.wait(node)


def _arguments(file: _File, call: ast.Call) -> Iterator[Wait]:
    name = _name(call)
    if name == "timeout" and ast.unparse(call.func).startswith("pytest.mark."):
        return  # which tests/conftest.py scales
    limits = [one.value for one in call.keywords if one.arg and _is_limit(name, one.arg)]
    if name in _WAITS:
        limits += [] if limits else call.args[-1:]
    else:
        limits += [call.args[place] for place in _places().get(name, ()) if place < len(call.args)]
        handed = [one for one in call.args[:-1] if isinstance(one, ast.Attribute) and one.attr in _WAITS - _LOOKS]
        limits += call.args[-1:] if handed else []  # to_thread(event.wait, 30)
    numbers = [number for one in limits if (number := file.number(one))]
    is_pause = name in _WAITS and all(number <= PAUSE_S for number in numbers) and _looks_again(file, call)
    if numbers and not is_pause:
        yield file.wait(call)


def _looks_again(file: _File, call: ast.Call) -> bool:
    """Whether what does not come at once may come later: not after so many looks, and it is not claimed to be there."""
    loop = file.loop(call)
    if isinstance(loop, (ast.For, ast.AsyncFor)) and ast.unparse(loop.iter).startswith("range("):
        return False
    is_asserted = any(isinstance(one, ast.Assert) for one in file.above(call))
    return loop is not None or (_name(call) in _LOOKS and not is_asserted)


def _is_limit(called: str, keyword: str) -> bool:
    """Whether an argument is named as a limit is; what a value, say a plan, has as its ``seconds`` is its own."""
    return bool(_LIMIT.search(keyword)) and not (keyword == "seconds" and (called[:1].isupper() or called == "replace"))


@cache
def _places() -> Mapping[str, frozenset[int]]:
    """Function that waits, of the tests or others, to the places of its arguments that are limits."""
    found = {name: {place} for name, place in _OF_OTHERS.items()}
    for _, text in files():
        for node in ast.walk(ast.parse(text)) if _OWN_DEFINED.search(text) else ():
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or not _OWN.search(node.name):
                continue
            names = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
            names = names[1:] if names[:1] == ["self"] else names
            for place, name in enumerate(names):
                if _LIMIT.search(name):
                    found.setdefault(node.name, set()).add(place)
    return {name: frozenset(places) for name, places in found.items()}


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def sleeps(path: str, text: str) -> list[Wait]:
    """Sleeps that wait for time."""
    if "sleep" not in text:
        return []
    file = _File.of(path, text)
    calls = [node for node in file.nodes if isinstance(node, ast.Call) and _name(node) == "sleep"]
    found = [file.wait(call) for call in calls if not _is_no_wait(file, call) and not _is_pause(file, call)]
    return _sorted(found, sleeps, file)


def _sorted(found: list[Wait], look: Callable[[str, str], list[Wait]], file: _File) -> list[Wait]:
    """With those of the programs that stand in the file as texts, each where its text stands."""
    for node in file.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _PROGRAM.search(node.value):
            with suppress(SyntaxError):
                place = file.wait(node, "a program")
                found += [replace(one, where=place.where, line=place.line) for one in look(file.path, node.value)]
    return sorted(found, key=lambda one: one.line)


def _is_no_wait(file: _File, call: ast.Call) -> bool:
    """Whether it gives others a turn, or stands for what hangs."""
    seconds = file.number(call.args[0]) if call.args else None
    return seconds is not None and (seconds == 0 or seconds >= HANGS_S)


def _is_pause(file: _File, call: ast.Call) -> bool:
    loop = file.loop(call)
    seconds = file.number(call.args[0]) if call.args else None
    if seconds is None or seconds > SLEEP_S or not isinstance(loop, ast.While):
        return False
    return _is_condition(loop.test) or any(_leaves(one) for one in loop.body)


def _is_condition(test: ast.expr) -> bool:
    """Whether something is looked at that is no clock."""
    if isinstance(test, ast.BoolOp):
        return any(_is_condition(one) for one in test.values)
    return not isinstance(test, ast.Constant) and not (
        isinstance(test, ast.Compare) and _CLOCK.search(ast.unparse(test))
    )


def _leaves(node: ast.AST) -> bool:
    """Whether it ends the loop that it stands in, other than by a failure."""
    match node:
        case ast.Return() | ast.Break():
            return True
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
            return False
        case ast.While() | ast.For() | ast.AsyncFor():  # whose ``break`` is its own
            return any(isinstance(one, ast.Return) for one in ast.walk(node))
    return any(_leaves(one) for one in ast.iter_child_nodes(node))


@cache
def files() -> tuple[tuple[str, str], ...]:
    """Each file of tests and harnesses, with its text."""
    found = [file for folder in ("qa", "tests") for file in sorted((ROOT / folder).rglob("*.py"))]
    return tuple((str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")) for file in found)


def places(look: Callable[[str, str], list[Wait]], simulated: Iterable[str] = ()) -> dict[tuple[str, str], list[Wait]]:
    """What ``look`` finds, by file and function, but for files under these, whose seconds are a simulated clock's."""
    by_place: dict[tuple[str, str], list[Wait]] = {}
    for path, text in files():
        for one in [] if path.startswith(tuple(simulated)) else look(path, text):
            by_place.setdefault((path, one.where), []).append(one)
    return by_place


def meant(table: Mapping[str, Mapping[str, str]]) -> set[tuple[str, str]]:
    """The places of a table: file to function to why a number there is meant."""
    return {(path, where) for path, functions in table.items() for where in functions}
