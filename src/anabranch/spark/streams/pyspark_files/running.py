"""Runs a PySpark file: ``main`` in a thread of its own, while this one watches the queries that it starts.

So a file may wait in ``main`` (``query.awaitTermination()``), and its queries still end cleanly, are told of, and are
fenced.

Invariants
    M1  a query that the stream does not know ends the run: it has no checkpoint to go on from.
    M2  asked to end, queries end between two micro-batches, and no further one is started.
    M3  where a query fails, or ``main`` raises, the run ends with that error; a query's comes first, as its file may
        raise because of it.
"""

from __future__ import annotations

import linecache
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from types import ModuleType

from pyspark import cloudpickle

from anabranch.errors import AnabranchError
from anabranch.spark.streams.failing import failure_of
from anabranch.spark.streams.pyspark_files.errors import UnwatchedQueryError, raised
from anabranch.spark.streams.pyspark_files.job import FileJob
from anabranch.spark.streams.pyspark_files.queries import FileQuery
from anabranch.spark.streams.running import LOOK_S, TellProgress, tell_all
from anabranch.streams.pyspark_file import MAIN

MODULE = "anabranch_stream_file"
END_S = 10.0
"""How long ``main`` has to end once its queries have."""


class FileRun:
    """One run of a file; ``job`` is what the file is handed."""

    def __init__(self, job: FileJob, text: str, file: str) -> None:
        self.job = job
        self._text = text
        self._file = file
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._main, name="main of the PySpark file", daemon=True)

    def watch(
        self, is_asked: Callable[[], bool], tell: TellProgress, started: Callable[[Sequence[FileQuery]], None]
    ) -> str:
        """Run the file until it is asked to end, or has ended; returns ``stopped`` or ``finished``.

        ``started`` is told the queries once one runs, and again with each further one.  Raises the error of a query,
        or of the file (M3), UnwatchedQueryError (M1); whoever called stops what still runs.
        """
        self._thread.start()
        told = -1
        while True:
            is_over = not self._thread.is_alive()  # before its queries: none is added once it is over
            queries = self.job.queries
            if len(queries) > max(told, 0) or (is_over and told < 0 and self._error is None):
                told = len(queries)
                started(queries)
            tell_all(queries, tell)
            # Before it is seen how they ended: one that fails behind that look has not finished.
            have_ended = is_over and all(one.query is not None and not one.query.isActive for one in queries)
            self._check(queries, is_over=is_over)
            if is_asked():
                return "stopped"
            if have_ended:
                tell_all(queries, tell)
                return "finished"
            time.sleep(LOOK_S)

    def join(self) -> None:
        """Wait for ``main``, which may have waited for its queries; not for long: no query of it runs any more."""
        if self._thread.ident is not None:
            self._thread.join(END_S)

    def _check(self, queries: Sequence[FileQuery], *, is_over: bool) -> None:
        for one in queries:
            assert one.query is not None
            if not one.query.isActive and one.query.exception() is not None:
                raise failure_of(one.name, 0, one.line, one.query)
        if is_over and self._error is not None:
            raise raised(self._error, self._file, self._text)
        unknown = self.job.unknown()
        if unknown:
            raise UnwatchedQueryError(unknown)

    def _main(self) -> None:
        try:
            getattr(_loaded(self._text, self._file), MAIN)(self.job)
        except SystemExit as error:
            if error.code not in (None, 0):
                self._error = error
        except AnabranchError as error:
            self._error = error
        except BaseException as error:
            traceback.print_exc()  # into the log, with the lines of the file
            self._error = error


def _loaded(text: str, file: str) -> ModuleType:
    """The file as a module; what it defines is sent to workers by value, for they have no such file."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = ModuleType(MODULE)
    module.__file__ = file
    sys.modules[MODULE] = module
    cloudpickle.register_pickle_by_value(module)
    exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)
    return module
