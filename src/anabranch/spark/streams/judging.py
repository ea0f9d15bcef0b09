"""What a script's own words already show to be not allowed: told all at once, before anything is connected to.

The plans decide (`streams.inline.check_plans`); this comes first, so that a cluster is not asked for what is denied.
"""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.spark.streams.granted import GrantedCatalog, Parts, relations, short_of
from anabranch.spark.streams.parsing import ParsedStatement, StatementKind, declaration
from anabranch.spark.streams.refusals import ScriptText
from anabranch.streams.catalog.attached import attached_name
from anabranch.streams.catalog.names import CatalogNameError, object_name
from anabranch.streams.closed import may_set
from anabranch.streams.grants import DeniedError, Privilege
from anabranch.streams.inline import why_not_own
from anabranch.streams.tables import TableDeclaration

_SQL_FUNCTIONS = ("CreateSQLFunctionCommand", "CreateUserDefinedFunction")


def check_names(script: ScriptText, parsed: Iterable[ParsedStatement], granted: GrantedCatalog) -> None:
    """Raise DeniedError with all that is not allowed by its name, ScriptError for a table that says no connector."""
    found = _Names(granted)
    for one in parsed:
        found.take(script, one)
    if found.denied:
        raise DeniedError(granted.spec.access.account, tuple(dict.fromkeys(found.denied)))


class _Names:
    def __init__(self, granted: GrantedCatalog) -> None:
        self._granted = granted
        self._own: dict[str, TableDeclaration] = {}
        self._views: set[str] = set()
        self.denied: list[str] = []

    def take(self, script: ScriptText, parsed: ParsedStatement) -> None:
        """The next statement."""
        if parsed.kind is StatementKind.TABLE:
            table = declaration(script, parsed)
            self._own[table.name.lower()] = table
            if why := why_not_own(table, None, self._granted.spec.access):
                self.denied.append(f"declare {table.name}: {why}")
        elif parsed.kind is StatementKind.SET:
            self._setting(parsed)
        elif parsed.kind is StatementKind.FUNCTION:
            self._function(parsed)
        if parsed.query is not None:
            for parts, _ in relations(parsed.query):
                self._use(parts, Privilege.READ)
        if parsed.kind is StatementKind.VIEW:
            self._views.add(parsed.name.lower())
        if parsed.kind is StatementKind.INSERT:
            self._use(tuple(parsed.name.split(".")), Privilege.WRITE)

    def _use(self, parts: Parts, privilege: Privilege) -> None:
        name, access = ".".join(parts).lower(), self._granted.spec.access
        if name in self._views:
            return
        if name in self._own:
            if why := why_not_own(self._own[name], privilege, access):
                self.denied.append(f"{privilege} {name}: {why}")
            return
        if self._is_attached(parts, privilege):
            return
        short = short_of(parts)
        if not short or (len(parts) == 1 and privilege is Privilege.READ):  # it may be a common table expression
            return
        is_known = self._granted.is_hidden(parts) or bool(self._granted.short(parts))
        if is_known and not access.allows(str(object_name(_quoted(parts))), privilege):
            self.denied.append(f"{privilege} {short}")

    def _is_attached(self, parts: Parts, privilege: Privilege) -> bool:
        """Whether a name is in an attached catalog; what is not allowed of it is noted."""
        spec, written = self._granted.spec, ".".join(parts)
        try:
            name = attached_name(parts, spec.attached)
        except CatalogNameError as error:
            self.denied.append(f"{privilege} {written}: {error.problem}")
            return True
        if name is not None and not spec.access.allows(str(name), privilege):
            self.denied.append(f"{privilege} {name.short}")
        return name is not None

    def _setting(self, parsed: ParsedStatement) -> None:
        kv = parsed.plan.kv()
        if kv.isEmpty() or kv.get()._2().isEmpty():
            return
        name, value = kv.get()._1(), kv.get()._2().get()
        if not may_set(name, value):
            self.denied.append(f"set {name}")

    def _function(self, parsed: ParsedStatement) -> None:
        shape = str(parsed.plan.getClass().getSimpleName())
        if parsed.resources:
            return  # of artifacts alone: whatever else it names is refused as it is made
        if shape not in _SQL_FUNCTIONS:
            self.denied.append("make a function of a class or a jar")
        elif len(_function_name(shape, parsed)) > 1:
            self.denied.append("make a function of the catalog")


def _function_name(shape: str, parsed: ParsedStatement) -> Parts:
    if shape == "CreateSQLFunctionCommand":
        return (str(parsed.plan.name().funcName()),)
    parts, found = parsed.plan.child().nameParts().iterator(), []
    while parts.hasNext():
        found.append(str(parts.next()))
    return tuple(found)


def _quoted(parts: Parts) -> str:
    return ".".join(f"`{part}`" for part in parts)
