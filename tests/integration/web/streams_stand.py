"""``python -m tests.integration.web.streams_stand``: the service beside streams and a catalog, for who opens its pages.

Prints one line of JSON: its address, and a token for each role; it ends with its standard input.  ``--empty`` has
neither a stream nor anything in the catalog.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from anabranch.service import instance
from anabranch.service.job_settings import JobSettings
from anabranch.service.logs import log_plainly
from anabranch.service.streaming import Streaming
from qa.service import Served, serving, until
from qa.stream_lab import end_stand_ins
from qa.stream_service import start_stand_in

ATTACHED = {"spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog"}
JOB = "tests.integration.web.stream_job"
VIEWS = """\
-- page views and visitors, per minute
SET spark.sql.shuffle.partitions = 8;

CREATE TABLE views (page STRING, user_id BIGINT, at TIMESTAMP)
USING kafka OPTIONS (cluster 'orders', topic 'views', format 'json', start 'earliest');

CREATE TABLE page_minutes (page STRING, minute TIMESTAMP, pv BIGINT, uv BIGINT)
USING postgresql OPTIONS (url 'jdbc:postgresql://db/shop', dbtable 'page_minutes', key 'page, minute');

CREATE TABLE busy_pages (page STRING, pv BIGINT)
USING kafka OPTIONS (cluster 'orders', topic 'busy-pages', format 'json', key 'page');

INSERT INTO page_minutes
SELECT page, window(at, '1 minute').start, count(*), approx_count_distinct(user_id)
FROM views WATERMARK at DELAY OF INTERVAL 10 MINUTES
GROUP BY page, window(at, '1 minute');

INSERT INTO busy_pages
SELECT page, count(*) FROM views WATERMARK at DELAY OF INTERVAL 10 MINUTES
GROUP BY page, window(at, '5 minutes') HAVING count(*) > 1000;
"""
LATE = VIEWS.replace("DELAY OF INTERVAL 10 MINUTES", "DELAY OF INTERVAL 30 MINUTES").replace(
    "-- page views and visitors, per minute\n", "-- page views and visitors, per minute; phones report late\n"
)
CLEAN = "CREATE TEMPORARY FUNCTION clean AS 'pages.clean' USING FILE 'artifact:pages';"
ORDERS = f"-- run lineage\nCREATE TABLE n USING rate; {CLEAN}\nINSERT INTO orders_copy SELECT * FROM n;\n"
STREAMS = {
    "page-views": (VIEWS, "page views and visitors of the shop, per minute"),
    "orders-copy": (ORDERS, "orders for the reporting team"),
    "refunds": ("-- exit 2\nINSERT INTO refunds SELECT * FROM ordrs;\n", "refunds by country"),
    "deliveries": ("-- exit 1\nINSERT INTO deliveries SELECT 1;\n", "how late deliveries are"),
    "returns": (ORDERS.replace("orders_copy", "returns"), ""),
    "sessions": (ORDERS.replace("orders_copy", "sessions"), "sessions of visitors, tried last spring"),
}
LATE_FILE = """\
from pyspark.sql import functions as F


def main(job):
    \"\"\"Flights that are late.\"\"\"
    read = job.spark.readStream.format("kafka").options(**job.kafka_source("orders", "flights")).load()
    late = read.where(F.get_json_object(F.col("value").cast("string"), "$.delay").cast("int") > 15)
    job.start(late.writeStream.format("noop"), "late")
"""
CATALOG = """\
CREATE DATABASE shop COMMENT 'orders and payments';
CREATE DATABASE reporting COMMENT 'what the reporting team reads';
CREATE TABLE shop.orders (id BIGINT NOT NULL COMMENT 'as the shop counts them',
  customer STRUCT<id: BIGINT, country: STRING>, amount DECIMAL(10, 2) COMMENT 'euros', at TIMESTAMP)
  USING kafka OPTIONS (cluster 'orders', topic 'orders', format 'json') COMMENT 'each order, as it is made';
CREATE TABLE shop.views (page STRING, user_id BIGINT, at TIMESTAMP)
  USING kafka OPTIONS (cluster 'orders', topic 'views', format 'json') COMMENT 'each page that somebody looks at';
CREATE TABLE reporting.page_minutes (page STRING, minute TIMESTAMP, pv BIGINT, uv BIGINT)
  USING postgresql OPTIONS (url 'jdbc:postgresql://db/shop', dbtable 'page_minutes', key 'page, minute',
    password 'env:SHOP_PASSWORD');
CREATE VIEW shop.large COMMENT 'orders above 1,000 euros' AS
  SELECT id, customer, amount FROM shop.orders WHERE amount > 1000;
CREATE FUNCTION shop.net(gross DECIMAL(10, 2)) RETURNS DECIMAL(10, 2) RETURN gross / 1.19;
"""
WIDER = """\
CREATE OR REPLACE TABLE shop.orders (id BIGINT NOT NULL COMMENT 'as the shop counts them',
  customer STRUCT<id: BIGINT, country: STRING>, amount DECIMAL(12, 2) COMMENT 'euros', at TIMESTAMP, voucher STRING)
  USING kafka OPTIONS (cluster 'orders', topic 'orders', format 'json') COMMENT 'each order, as it is made';
"""


BYTES = {"Content-Type": "application/octet-stream"}
PAGES = """\
def clean(path: str) -> str:
    return path.split("?")[0].rstrip("/") or "/"


def depth(path: str, most: int = 9) -> int:
    return min(path.count("/"), most)
"""


def upload(served: Served, name: str, text: str, description: str, note: str) -> None:
    """A version of an artifact, of one file of Python."""
    kept = served.ask("POST", f"/api/v1/artifacts/{name}?file={name}.py", text.encode(), role="admin", headers=BYTES)
    assert kept.status == 200, kept.body
    asked = {"artifact": name, "file": f"{name}.py", "sha256": kept.json["sha256"]}
    change(served, "artifacts/save", **asked, description=description, note=note)


def change(served: Served, verb: str, **request: object) -> Any:
    """Plan a verb as an admin, and apply it; returns its report."""
    plan = served.ask("POST", f"/api/v1/{verb}/plan", request, role="admin")
    assert plan.status == 200, (verb, plan.body)
    begun = served.ask("POST", f"/api/v1/plans/{plan.json['id']}/apply", {"hash": plan.json["hash"]}, role="admin")
    assert begun.status == 202, (verb, begun.body)
    work = f"/api/v1/operations/{begun.json['id']}"
    until(lambda: served.get(work, "admin")["state"] != "running")
    ended = served.get(work, "admin")
    assert ended["state"] == "done", (verb, ended)
    return ended["report"]


def state(served: Served, name: str) -> str:
    """The state of a stream."""
    return str(served.get(f"/api/v1/streams/{name}")["stream"]["state"])


def fill(served: Served) -> None:
    """Streams in every state in which they stay, and a catalog that two teams share."""
    change(served, "catalog/create", definitions={"sql": CATALOG})
    change(served, "catalog/create", definitions={"sql": WIDER})
    change(served, "catalog/group", group="reporting", add=["viewer", "operator"])
    for privilege, name, on in (("read", "shop.orders", "object"), ("read", "shop.large", "object")):
        change(served, "catalog/grant", privilege=privilege, name=name, principal="group:reporting", on=on)
    change(served, "catalog/grant", privilege="manage", name="reporting", principal="group:reporting", on="database")
    upload(served, "pages", PAGES, "names of pages as the reports have them", "without what is asked behind ?")
    upload(served, "codes", "def code(text: str) -> int:\n    return len(text)\n", "tried last spring", "")
    for name, (script, description) in STREAMS.items():
        change(served, "streams/create", stream=name, script=script, description=description)
    file = {"script": LATE_FILE, "kind": "pyspark", "description": "flights that are late"}
    change(served, "streams/create", stream="late-flights", **file)
    change(served, "streams/edit", stream="page-views", script=LATE, note="phones report late")
    change(served, "streams/publish", stream="page-views", version=2)
    change(served, "streams/edit", stream="page-views", trigger="5 seconds", note="fewer, larger batches")
    for name in ("page-views", "orders-copy", "refunds", "deliveries", "returns"):
        change(served, "streams/start", stream=name)
    until(lambda: state(served, "returns") == "running")
    change(served, "streams/stop", stream="returns")
    for name, wanted in (("page-views", "running"), ("refunds", "failed"), ("returns", "stopped")):
        until(lambda name=name, wanted=wanted: state(served, name) == wanted)  # type: ignore[misc]


def main(arguments: Sequence[str]) -> None:
    """Serve until standard input ends."""
    log_plainly()  # on standard error: what stands on standard output is for who started this
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--empty", action="store_true")
    asked = parser.parse_args(arguments)
    start = partial(start_stand_in, module=JOB)
    with tempfile.TemporaryDirectory() as name, patch.object(instance, "Streaming", partial(Streaming, start=start)):
        directory = Path(name)
        attached = {} if asked.empty else ATTACHED
        jobs = JobSettings("local[2,8]", "local[2]", directory / "jobs", attached)
        with serving(str(directory / "store.db"), {}, directory, port=asked.port, jobs=jobs) as served:
            try:
                if not asked.empty:
                    fill(served)
                print(json.dumps({"url": f"http://127.0.0.1:{served.port}", "tokens": served.tokens}), flush=True)
                sys.stdin.read()
            finally:
                end_stand_ins(directory)


if __name__ == "__main__":
    main(sys.argv[1:])
