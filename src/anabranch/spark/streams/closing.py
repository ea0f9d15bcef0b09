"""Sessions in which SQL reaches nothing but the tables that were put there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from anabranch.streams.closed import FUNCTIONS, SETTINGS


def closed_session(spark: SparkSession) -> SparkSession:
    """A session beside another one, with its own views and settings; queries that are started in it keep to that."""
    made = spark.newSession()
    jvm = made._jvm
    assert jvm is not None
    for name, value in SETTINGS.items():
        made.conf.set(name, value)
    registry = made._jsparkSession.sessionState().functionRegistry()
    for name in FUNCTIONS:
        registry.dropFunction(jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name))
    return made


@contextmanager
def active(session: SparkSession) -> Iterator[None]:
    """A session as the one that is active in this thread: Spark asks that one, whichever it is handed.

    So for the settings of its parser, and for data sources of Python as a query is started.
    """
    jvm: Any = session._jvm
    sessions = jvm.org.apache.spark.sql.classic.SparkSession
    before = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def plan_of(session: SparkSession, text: str) -> Any:
    """What Spark's parser makes of a text by the settings of a session; raises what Spark does."""
    with active(session):
        return session._jsparkSession.sessionState().sqlParser().parsePlan(text)
