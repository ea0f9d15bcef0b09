"""The lineage of an analysed script, by the names that its tables have for all streams."""

from __future__ import annotations

from anabranch.config.streamspec import StreamRunSpec
from anabranch.errors import AnabranchError
from anabranch.spark.streams.analysis import AnalysedScript
from anabranch.streams.inline import TableAccess
from anabranch.streams.lineage.document import VersionLineage, dataset_of, known_as, renamed, short
from anabranch.streams.lineage.edges import InsertLineage, lineage_of_insert
from anabranch.streams.lineage.expressions import NotUnderstood
from anabranch.streams.tables import TableDeclaration


def lineage_of_script(found: AnalysedScript, spec: StreamRunSpec) -> VersionLineage:
    """What each INSERT makes of what; a plan that cannot be read is told as not understood, and stops nobody."""
    access = TableAccess("") if spec.catalog is None else spec.catalog.access
    names: dict[str, str] = {}
    tables: dict[str, TableDeclaration] = {}
    for name in found.registered.own:
        own = next(one for one in found.tables.values() if one.name.lower() == name)
        names[name] = known_as(spec.stream, own, access.topics, access.leads)
        tables[names[name]] = own
    for one in () if spec.catalog is None else spec.catalog.tables:
        if one.name.lower() in found.registered.tables or any(each.target is one for each in found.inserts):
            names[one.name.lower()] = short(one.name)
            tables.setdefault(short(one.name), one)
    declared = (*names,)
    inserts: list[InsertLineage] = []
    for plan in found.inserts:
        try:
            made = lineage_of_insert(plan.plan, plan.target.name, plan.rows.columns, declared)
        except AnabranchError as error:
            noted = NotUnderstood("plan", error.message[:200])
            made = InsertLineage(plan.target.name, tuple(plan.rows.columns), {}, (), not_understood=(noted,))
        inserts.append(renamed(made, names))
    used = {one.target for one in inserts} | {table for one in inserts for table in one.sources}
    datasets = {name: dataset_of(name, table) for name, table in sorted(tables.items()) if name in used}
    return VersionLineage(tuple(inserts), datasets)
