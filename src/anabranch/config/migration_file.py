"""The shape of a migration file (``anabranch migrate plan -f migration.yaml``) and how it becomes a ``Migration``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from anabranch.config.link_file import ConfigsShape, NamingShape, StartOffsetsShape, plugin_of, start_position
from anabranch.config.units import parse_interval, parse_rate
from anabranch.config.yaml_file import FileShape, check, read, refuse_secrets
from anabranch.errors import InvalidFieldError
from anabranch.migration.spec import (
    AccessCarryOver,
    CopyRules,
    FenceKind,
    Hooks,
    JobKind,
    Limits,
    Migration,
    Readers,
    StreamJob,
    Wave,
    WaveOrder,
)
from anabranch.model import naming
from anabranch.model.configs import ConfigRules
from anabranch.model.link import ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.model.routing import Stragglers
from anabranch.model.start import StartKind, StartPosition

_SHORTEST_MS, _LONGEST_MS = 100, 3_600_000
FenceWord = Literal["routes", "acl", "hook", "observe"]
_OBSERVE: list[FenceWord] = ["observe"]


class JobShape(FileShape):
    """A stream job whose stored positions are rewritten as its wave is switched."""

    name: str = Field(description="Names the job.")
    kind: Literal["spark", "flink"] = Field(description="Whose checkpoint it has.")
    checkpoint: str = Field(description="Where its checkpoint or savepoint is: a path, or s3://, hdfs:// ...")
    moved: str = Field(default="", description="Where the rewritten one is put; default, for Spark, in its place.")


class HooksShape(FileShape):
    """Commands of your own, by the names that the service's file has for them (hooks)."""

    fence: str = Field(default="", description="Stops the producers of the wave; exit code 0 says that it has.")
    release: str = Field(default="", description="Lets applications go on, on the target or back on the source.")


class WaveShape(FileShape):
    """Applications that are switched in one go; what is shared by two of them belongs to one wave."""

    name: str = Field(description="Names the wave.")
    topics: list[str] = Field(description="Topics, by whole names.")
    groups: list[str] = Field(default_factory=list, description="Consumer groups, by whole names.")
    jobs: list[JobShape] = Field(default_factory=list, description="Stream jobs with checkpoints.")
    clients: list[str] = Field(default_factory=list, description="Client ids that are known to belong to it.")
    principals: list[str] = Field(
        default_factory=list,
        description="Whom fence acl denies writing, and readers deny reading, such as User:shop; default whom rules "
        "allow to.",
    )
    codes: list[str] = Field(default_factory=list, description="Cluster codes that its applications name.")
    order: Literal["together", "consumers first", "producers first"] = Field(
        default="together", description="Who is switched first."
    )
    fences: list[FenceWord] = Field(
        default_factory=lambda: _OBSERVE,
        description="What keeps producers from writing, one after the other: routes (applications of the SDK pause), "
        "acl (the source denies it), hook (a command of yours), observe (it is waited until nobody writes).",
    )
    hooks: HooksShape = Field(default_factory=HooksShape)
    readers: Literal["wait", "deny"] = Field(
        default="wait",
        description="Members of its groups that read on: they are waited for, or the cluster that is left denies them "
        "reading in these groups, and they are waited for until their sessions are over.",
    )


class CopyShape(FileShape):
    """How topics are copied, as in a link file."""

    naming: NamingShape = Field(default_factory=lambda: NamingShape(kind="identity"))
    replication_factor: int | None = Field(
        default=None, ge=1, description="Of target topics; default the target brokers'."
    )
    start: datetime | str | int | StartOffsetsShape = Field(
        default="earliest", description="earliest, latest, a time with its zone, or milliseconds since 1970."
    )
    mode: Literal["auto", "mapped"] = Field(default="auto", description="auto keeps offsets where that is safe.")
    configs: ConfigsShape = Field(default_factory=ConfigsShape)


class LimitsShape(FileShape):
    """What the migration may cost."""

    source_rate: int | str | None = Field(
        default=None, description="Bytes a second that all its links together read, such as 50MB/s."
    )
    longest_pause: str = Field(
        default="30s", description="A switch that would hold applications up for longer is given up."
    )
    most_lag: int = Field(default=10_000, ge=0, description="Records that a lane may lack as a switch begins.")
    quiet: str = Field(default="2s", description="For how long nobody has written when that is taken for proved.")
    job_quiet: str | None = Field(
        default=None,
        description="A stream job that has not written its checkpoint for so long is taken for stopped; default a "
        "minute, or three of the job's own intervals where that is longer.",
    )


class AccessShape(FileShape):
    """Access rules and quotas of the waves on the target."""

    sync: bool = Field(default=False, description="Whether they are carried over, before and as a wave is switched.")
    principals: dict[str, str] = Field(
        default_factory=dict, description="What principals of the source are called there; others keep their names."
    )
    quotas: bool = Field(default=False, description="Whether quotas of users and client ids are carried over, too.")


class MigrationShape(FileShape):
    """Applications that are moved from one cluster to another, in waves."""

    version: Literal[1] = Field(default=1, description="Version of this file's format.")
    name: str = Field(description="Names the migration, and the links that it makes.")
    source: str = Field(description="Context of the cluster that is left.")
    target: str = Field(description="Context of the cluster that is moved to.")
    source_id: str = Field(default="", description="Cluster id that source must lead to; default whichever.")
    target_id: str = Field(default="", description="Cluster id that target must lead to; default whichever.")
    copy_: CopyShape = Field(default_factory=CopyShape, alias="copy")
    limits: LimitsShape = Field(default_factory=LimitsShape)
    approvers: list[str] = Field(
        default_factory=list,
        description="Accounts, of which one who did not ask for it approves what leads clients, or cannot be undone.",
    )
    stragglers: Literal["cancel", "leave"] = Field(
        default="cancel", description="What is done when a client does not pause in time."
    )
    access: AccessShape = Field(default_factory=AccessShape)
    waves: list[WaveShape] = Field(max_length=200, description="Waves, in the order in which they are switched.")


def load(path: Path) -> Migration:
    """A file's migration; raises ``ConfigError`` naming file and field."""
    return migration_of(read(path), str(path))


def migration_of(fields: Mapping[str, Any], where: str) -> Migration:
    """The migration of a mapping; raises ``ConfigError`` naming the field."""
    refuse_secrets(where, fields, "")
    return of_shape(check(MigrationShape, fields, where), where)


def of_shape(shape: MigrationShape, where: str) -> Migration:
    """The migration of a file's fields; raises ``ConfigError`` naming the field."""
    try:
        rules = _copy(shape.copy_)
        naming.load(rules.naming, shape.source)
    except InvalidFieldError as error:
        raise InvalidFieldError(where, f"copy.{error.field}", error.problem, error.fix) from error
    return Migration(
        shape.name,
        shape.source,
        shape.target,
        tuple(_wave(wave) for wave in shape.waves),
        shape.source_id,
        shape.target_id,
        rules,
        _limits(shape.limits, where),
        tuple(shape.approvers),
        Stragglers(shape.stragglers),
        AccessCarryOver(shape.access.sync, shape.access.principals, shape.access.quotas),
    )


def _wave(shape: WaveShape) -> Wave:
    return Wave(
        shape.name,
        tuple(shape.topics),
        tuple(shape.groups),
        tuple(StreamJob(job.name, JobKind(job.kind), job.checkpoint, job.moved) for job in shape.jobs),
        tuple(shape.clients),
        tuple(shape.principals),
        tuple(shape.codes),
        WaveOrder(shape.order),
        tuple(FenceKind(fence) for fence in shape.fences),
        Hooks(shape.hooks.fence, shape.hooks.release),
        Readers(shape.readers),
    )


def _copy(shape: CopyShape) -> CopyRules:
    configs = ConfigRules(tuple(shape.configs.allow), tuple(shape.configs.deny))
    naming_ = plugin_of(shape.naming)
    return CopyRules(naming_, shape.replication_factor, start_position(shape.start), ModePolicy(shape.mode), configs)


def _limits(shape: LimitsShape, where: str) -> Limits:
    try:
        rate = None if shape.source_rate is None else parse_rate(str(shape.source_rate))
    except InvalidFieldError as error:
        raise InvalidFieldError(where, "limits.source_rate", error.problem, error.fix) from error
    pause = _interval(shape.longest_pause, where, "limits.longest_pause")
    job_quiet = None if shape.job_quiet is None else _interval(shape.job_quiet, where, "limits.job_quiet")
    return Limits(rate, pause, shape.most_lag, _interval(shape.quiet, where, "limits.quiet"), job_quiet)


def _interval(text: str, where: str, field: str) -> int:
    found = parse_interval(text, where, field)
    if not _SHORTEST_MS <= found <= _LONGEST_MS:
        raise InvalidFieldError(where, field, f"{text} is not from 100ms to 1h", "for example 30s")
    return found


def migration_fields(migration: Migration) -> dict[str, Any]:
    """The mapping that ``migration_of`` reads as this migration; what is as by default is left out."""
    plain = Migration(migration.name, migration.source, migration.target, ())
    limits, usual = migration.limits, plain.limits
    told_limits = {
        "source_rate": limits.source_rate,
        "longest_pause": _told_ms(limits.longest_pause_ms, usual.longest_pause_ms),
        "most_lag": None if limits.most_lag == usual.most_lag else limits.most_lag,
        "quiet": _told_ms(limits.quiet_ms, usual.quiet_ms),
        "job_quiet": _told_ms(limits.job_quiet_ms, usual.job_quiet_ms),
    }
    return {
        "version": 1,
        "name": migration.name,
        "source": migration.source,
        "target": migration.target,
        **_given(
            source_id=migration.source_id,
            target_id=migration.target_id,
            copy=_copy_fields(migration.copy),
            limits={name: value for name, value in told_limits.items() if value is not None},
            approvers=list(migration.approvers),
            stragglers="" if migration.stragglers is plain.stragglers else migration.stragglers.value,
            access=_access_fields(migration.access),
        ),
        "waves": [_wave_fields(wave) for wave in migration.waves],
    }


def _access_fields(access: AccessCarryOver) -> dict[str, Any]:
    return _given(sync=access.sync, principals=dict(access.principals), quotas=access.quotas)


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _told_ms(value: int | None, usual: int | None) -> str | None:
    return None if value == usual else f"{value}ms"


def _copy_fields(rules: CopyRules) -> dict[str, Any]:
    plain = CopyRules()
    return _given(
        naming=_naming_fields(rules.naming) if rules.naming != plain.naming else {},
        replication_factor=rules.replication_factor,
        start=None if rules.start == plain.start else _start_field(rules.start),
        mode="" if rules.mode is plain.mode else rules.mode.value,
        configs={}
        if rules.configs == plain.configs
        else {"allow": list(rules.configs.allow), "deny": list(rules.configs.deny)},
    )


def _start_field(start: StartPosition) -> str | int | dict[str, Any] | None:
    if start.kind is StartKind.OFFSETS:
        offsets: dict[str, dict[int, int]] = {}
        for partition, offset in sorted(start.offsets.items()):
            offsets.setdefault(partition.topic, {})[partition.partition] = offset
        return {"offsets": offsets}
    if start.kind is StartKind.GROUP:
        return f"group:{start.group}"
    return start.timestamp_ms if start.kind is StartKind.TIMESTAMP else start.kind.value


def _naming_fields(naming_: PluginSpec) -> dict[str, Any]:
    return {"kind": naming_.kind, **naming_.options}


def _wave_fields(wave: Wave) -> dict[str, Any]:
    plain = Wave(wave.name, ())
    return {
        "name": wave.name,
        "topics": list(wave.topics),
        **_given(
            groups=list(wave.groups),
            jobs=[_job_fields(job) for job in wave.jobs],
            clients=list(wave.clients),
            principals=list(wave.principals),
            codes=list(wave.codes),
            order="" if wave.order is plain.order else wave.order.value,
            fences=[] if wave.fences == plain.fences else [fence.value for fence in wave.fences],
            hooks=_given(fence=wave.hooks.fence, release=wave.hooks.release),
            readers="" if wave.readers is plain.readers else wave.readers.value,
        ),
    }


def _job_fields(job: StreamJob) -> dict[str, Any]:
    moved = {"moved": job.moved} if job.moved else {}
    return {"name": job.name, "kind": job.kind.value, "checkpoint": job.checkpoint, **moved}
