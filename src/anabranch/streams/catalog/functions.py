"""Functions of the catalog that a script calls, by the words of its text, and those of them that artifacts bring.

What is read here says what is made, and pinned, for a script: one that only seems to be called costs time and nothing
else.  What a query calls is decided by Spark's own parser, and a call of what was not made is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anabranch.errors import ConfigError
from anabranch.streams.artifacts.references import ArtifactReference, one_of_each, reference, resources
from anabranch.streams.catalog.ddl import definitions
from anabranch.streams.catalog.names import DATABASE, ObjectName, object_name
from anabranch.streams.catalog.objects import Function


@dataclass(eq=False)
class NotPinnedFunctionError(ConfigError):
    """A function of an artifact that was none, or was not called, when the version of a stream was saved."""

    name: str

    _message = "{name} of the catalog has come to be of an artifact since this was saved, and no version is pinned"
    _hint = "save it as another version, which pins one: `anabranch stream edit NAME FILE`"


@dataclass(frozen=True, slots=True)
class CatalogTexts:
    """What an account may use of the catalog that has a text: functions as whole statements, views as (name, query)."""

    functions: tuple[str, ...] = ()
    views: tuple[tuple[str, str], ...] = ()


def called(catalog: CatalogTexts, text: str) -> tuple[Function, ...]:
    """The functions that a text calls, or that a view or function that it names calls, in the order of the catalog.

    Raises ScriptError.
    """
    functions = [one for each in catalog.functions if isinstance(one := definitions(each)[0].object, Function)]
    waiting = [(one.name, one.statement) for one in functions]
    waiting += [(object_name(name), query) for name, query in catalog.views]
    named, texts = set[ObjectName](), [text]
    while texts:
        words = " ".join(texts).lower()
        found = [one for one in waiting if _is_named(one[0], words)]
        waiting = [one for one in waiting if one not in found]
        named |= {name for name, _ in found}
        texts = [inner for _, inner in found]
    return tuple(one for one in functions if one.name in named)


def of_artifacts(function: Function) -> tuple[ArtifactReference, ...]:
    """The artifacts that bring a function, none of one of SQL; raises InvalidFieldError where it names a file."""
    return one_of_each(reference(text) for text in resources(function.statement))


def pinned_of(function: Function, pinned: Mapping[str, str]) -> str:
    """The statement that runs in place of a function's own, empty where that is of SQL and nothing was pinned.

    ``pinned`` are statements by the functions' names: one of them runs whatever the function has come to be since.
    Raises NotPinnedFunctionError, InvalidFieldError.
    """
    found = pinned.get(function.name.short, "")
    if not found and of_artifacts(function):
        raise NotPinnedFunctionError(function.name.short)
    return found


def of_artifact(functions: Sequence[Function], name: str) -> tuple[Function, ...]:
    """The functions that an artifact brings."""
    return tuple(one for one in functions if any(each.name == name for each in of_artifacts(one)))


def _is_named(found: ObjectName, text: str) -> bool:
    """Whether a text in lower case may name it: in another database than the default one by its whole name alone."""
    name, database = re.escape(found.name), re.escape(found.database)
    whole = rf"(?<!\w)`?{database}`?\s*\.\s*`?{name}(?!\w)"
    plain = rf"|(?<!\w){name}(?!\w)" if found.database == DATABASE else ""
    return re.search(whole + plain, text) is not None
