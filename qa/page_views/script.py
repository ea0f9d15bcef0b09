"""The stream: clicks of a Kafka topic counted by page and window, into PostgreSQL and into another topic."""

from __future__ import annotations

from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict

TABLE = "pv_uv"
MINUTES = 10
"""Of a window."""
LATE_MINUTES = 60
"""So late a click may be; ``clicks`` keeps far below it, whatever stands still."""
MAKE_TABLE = f"CREATE TABLE {TABLE} (since timestamptz, page text, pv bigint, uv bigint, PRIMARY KEY (since, page))"
_COUNTED = f"""
CREATE TABLE clicks (page STRING, user_id BIGINT, at TIMESTAMP)
USING kafka OPTIONS (cluster '{{cluster}}', topic '{{topic}}', format 'json', max.records.per.batch '{{most}}');

CREATE VIEW counted AS
SELECT window(at, '{MINUTES} minutes').start AS since, page, count(*) AS pv, cardinality(collect_set(user_id)) AS uv
FROM STREAM clicks WATERMARK at DELAY OF INTERVAL {LATE_MINUTES} MINUTES
GROUP BY window(at, '{MINUTES} minutes'), page;

CREATE TABLE {TABLE} (since TIMESTAMP, page STRING, pv BIGINT, uv BIGINT)
USING postgresql OPTIONS (key 'since, page', user '{{user}}',
  url '{{url}}');

INSERT INTO {TABLE} SELECT * FROM counted;
"""
_FINAL = """
CREATE TABLE final (since TIMESTAMP, page STRING, pv BIGINT, uv BIGINT)
USING kafka OPTIONS (cluster '{cluster}', topic '{final}', format 'json', key 'page');

INSERT INTO final SELECT * FROM counted;
"""
_PARTITIONS = "SET spark.sql.shuffle.partitions = {partitions};\n"


def script(cluster: str, topic: str, database: str, final: str = "", most: int = 20_000, partitions: int = 2) -> str:
    """The script that reads ``topic``; with ``final`` windows that are over go there, too.

    ``database`` is the address of a database with the table (``MAKE_TABLE``), as libpq takes it.
    """
    parts = conninfo_to_dict(database)
    url = f"postgresql:///{parts['dbname']}?host={quote(str(parts['host']), safe='')}"
    given = {"cluster": cluster, "topic": topic, "url": url, "user": parts["user"], "final": final}
    text = _PARTITIONS + _COUNTED + (_FINAL if final else "")
    return text.format(**given, most=most, partitions=partitions)
