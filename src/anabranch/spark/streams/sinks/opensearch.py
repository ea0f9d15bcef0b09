"""Rows into OpenSearch or Elasticsearch: a document for each key, which no older one replaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import quote

from pyspark.sql import types as T

from anabranch.spark.streams.sinks.bulk import BulkAnswer, BulkRows, mapping_problems, version_of
from anabranch.spark.streams.sinks.errors import (
    RowRefusedError,
    SinkAnswerError,
    SinkMissingError,
    SinkSchemaError,
    WriterFencedError,
)
from anabranch.spark.streams.sinks.http_server import HttpServer, HttpTarget
from anabranch.spark.streams.sinks.keys import KEY_TYPES
from anabranch.spark.streams.sinks.options import COMMON, SECRET, SinkOptions
from anabranch.spark.streams.sinks.port import QueryIdentity, SinkKind
from anabranch.spark.streams.sinks.retrying import PassingError, Retrying
from anabranch.spark.streams.sinks.rowplan import OPTIONS, KeyedRows
from anabranch.spark.streams.sinks.server_sink import ServerSink
from anabranch.spark.streams.sinks.state import BatchState, QueryWriter
from anabranch.streams.tables import TableDeclaration

STATE = "anabranch-batches"
_REQUIRED = {"url": "http://HOST:PORT or https://, without a user or a password", "key": OPTIONS["key"]}
_OPTIONAL = {
    "user": "who connects",
    "password": f"their password: {SECRET}",
    "tls_ca": "a file of certificates, of which one has signed the server's; those of the machine",
    "index": "the index; the declared name",
    "version": "a column of whole numbers from 0: a document with a greater one stays; start and batch",
    "order": OPTIONS["order"],
    **COMMON,
}


@dataclass(frozen=True, slots=True)
class IndexTarget:
    """An index, and the column that has the versions of its documents."""

    http: HttpTarget
    index: str
    version: str

    @property
    def path(self) -> str:
        return f"/{quote(self.index, safe='')}"


class SearchServer:
    """A connection; ``server_sink.SinkServer``."""

    def __init__(self, target: IndexTarget, retrying: Retrying) -> None:
        self._target, self._retrying = target, retrying
        self._http = HttpServer(target.http)
        self._seen: dict[str, Any] = {}
        self._query, self._writing = "", BatchState(0)

    def check(self, schema: T.StructType) -> None:
        target = self._target
        status, answer = self._http.ask("GET", target.path)
        if status == 404:
            raise SinkMissingError(target.http.sink, f"index {target.index}", "make it, or correct option index")
        self._expect(status, answer)
        problems = [one for index in answer.values() for one in mapping_problems(index.get("mappings", {}), schema)]
        if target.version:
            kinds = {field.name: field.dataType for field in schema.fields}
            if not isinstance(kinds.get(target.version), T.IntegralType):
                problems.append(
                    f"the query writes no column {target.version} of whole numbers, which option version names"
                )
        if problems:
            raise SinkSchemaError(target.http.sink, tuple(problems), "change the query, or the index's mapping")
        body = {"mappings": {"dynamic": False, "properties": {}}}
        status, answer = self._http.ask("PUT", f"/{STATE}", body)
        if status != 400 or "already_exists" not in str(answer):
            self._expect(status, answer)

    def begin(self, query: str, writing: BatchState) -> BatchState | None:
        self._query, self._writing = query, writing
        status, answer = self._http.ask("GET", self._state(query))
        found = None
        self._seen = {"op_type": "create"}
        if status != 404:
            self._expect(status, answer)
            source = answer["_source"]
            found = BatchState(source["fence"], source["checkpoint"], source["batch"])
            self._seen = {"if_seq_no": answer["_seq_no"], "if_primary_term": answer["_primary_term"]}
        if found is None or found.fence < writing.fence:
            self._keep(query, replace(found or BatchState(writing.fence), fence=writing.fence))
        return found

    def load(self, columns: Sequence[str], chunk: bytes) -> None:  # noqa: ARG002 a document names them
        # A piece is tried again by itself: a busy server would seldom take all of a large batch at once.
        self._retrying.call(partial(self._load, chunk))

    def merge(self, columns: Sequence[str]) -> None:
        """Documents are where they belong."""

    def commit(self, query: str, state: BatchState) -> None:
        self._keep(query, state)

    def close(self) -> None:
        self._http.close()

    def _load(self, chunk: bytes) -> None:
        sink = self._target.http.sink
        status, answer = self._http.ask("POST", f"{self._target.path}/_bulk", chunk)
        if status == 413:
            raise RowRefusedError(sink, "a document is larger than the server takes")
        self._expect(status, answer)
        told = BulkAnswer.of(answer)
        if told.refused:
            raise RowRefusedError(sink, f"{told.others} documents of a request, such as {'; '.join(told.refused)}")
        if told.passing:
            raise PassingError(told.passing)
        if told.older and not self._target.version:
            self._refuse_older(told.older[0])

    def _refuse_older(self, document: str) -> None:
        """Whose the newer document is: a later start's of this query, or another query's."""
        sink, writer = self._target.http.sink, self._writing
        status, answer = self._http.ask("GET", self._state(self._query))
        self._expect(status, answer)
        seen = answer["_source"]["fence"]
        if seen > writer.fence:
            raise WriterFencedError(sink, self._query, writer.fence, seen)
        why = f"document {document!r} has a greater version, which another query has written; set option version"
        raise RowRefusedError(sink, why)

    def _keep(self, query: str, state: BatchState) -> None:
        terms = "&".join(f"{name}={value}" for name, value in self._seen.items())
        body = {"fence": state.fence, "checkpoint": state.checkpoint, "batch": state.batch}
        status, answer = self._http.ask("PUT", f"{self._state(query)}?{terms}", body)
        if status == 409:
            raise PassingError("another writer has written the query's state")
        self._expect(status, answer)
        self._seen = {"if_seq_no": answer["_seq_no"], "if_primary_term": answer["_primary_term"]}

    def _state(self, query: str) -> str:
        return f"/{STATE}/_doc/{quote(query, safe='')}"

    def _expect(self, status: int, answer: Any) -> None:
        if not 200 <= status < 300:
            raise SinkAnswerError(self._target.http.sink, f"status {status}: {answer}"[:500])


def opened(table: TableDeclaration, identity: QueryIdentity) -> ServerSink:
    """The sink of a declaration; raises ``SinkOptionError``."""
    options = SinkOptions.of(table, _REQUIRED, _OPTIONAL)
    index, version = options.text("index", table.name), options.text("version")
    sink = f"index {index}"
    url = options.url("url", "http", "https")
    http = HttpTarget(sink, url, options.text("tls_ca"), options.text("user"), options.secret("password"))
    target = IndexTarget(http, index, version)
    beside = (version,) if version else ()
    rows = replace(KeyedRows.of(options), distinct=True, document=True, beside=beside, key_types=KEY_TYPES)

    def encoder(schema: T.StructType, writing: BatchState) -> BulkRows:  # noqa: ARG001 the document has its columns
        return BulkRows(len(rows.keys), None if version else version_of(writing), version)

    return ServerSink(
        QueryWriter.of(sink, identity),
        rows,
        encoder,
        lambda retrying: SearchServer(target, retrying),
        options.retry_seconds,
    )


KIND = SinkKind("opensearch", opened, _REQUIRED, _OPTIONAL)
