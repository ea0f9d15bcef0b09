"""The report as one HTML page that needs nothing else: no script, no font, no image from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

from anabranch.verify.report import partitions

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}
.verdict{display:inline-block;padding:.15rem .7rem;border-radius:1rem;color:#fff;font-weight:600}
.equal{background:#1a7f37}.different{background:#b3261e}.unknown{background:#8a6100}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #d8dee4;vertical-align:top}
th{font-weight:600;background:#f6f8fa}td.n{text-align:right}code{font-size:.85em;overflow-wrap:anywhere}
.dim{color:#59636e}.wide{overflow-x:auto}
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}th{background:#161b22}
th,td{border-color:#30363d}.dim{color:#9198a1}}
"""
_SENTENCES = {
    "equal": "Both sides hold the same records, in the same order, over all of the pinned offsets.",
    "different": "At least one record differs; each is named below, or counted if there are many.",
    "unknown": "Nothing that was compared differs, and not all could be compared.",
}


def page(report: Mapping[str, Any]) -> str:
    """The page of a report."""
    verdict = str(report["verdict"])
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width,initial-scale=1'>",
        f"<title>{escape(str(report['link']))}: {verdict}</title><style>{_STYLE}</style>",
        f"<h1>Comparison of link {escape(str(report['link']))} <span class='verdict {verdict}'>{verdict}</span></h1>",
        f"<p>{_SENTENCES[verdict]}</p>",
        _facts(report),
        "<h2>Records</h2>",
        _counts(report["counts"]),
        "<h2>Lanes</h2>",
        _lanes(report["lanes"]),
    ]
    if report["not_compared"]:
        parts += ["<h2>Not compared</h2>", _table(("lane", "why"), _pairs(report["not_compared"], "lane", "reason"))]
    if report["samples"]:
        parts += ["<h2>Samples</h2>", _samples(report["samples"], partitions(report))]
    return "\n".join(parts) + "\n</html>\n"


def _facts(report: Mapping[str, Any]) -> str:
    seconds = max(report["finished_at_ms"] - report["started_at_ms"], 0) / 1000
    source, target = report["source"], report["target"]
    rows = (
        ("source", f"{source['context']} ({source['cluster_id']})"),
        ("target", f"{target['context']} ({target['cluster_id']})"),
        ("when", f"{_moment(report['started_at_ms'])} to {_moment(report['finished_at_ms'])}, {seconds:,.1f} s"),
        (
            "read",
            f"{report['records_read']:,} records, {report['bytes_read']:,} bytes, both sides together; "
            f"{report['records_per_s']:,.0f} records/s",
        ),
        ("how", f"reader {report['reader']}; isolation levels: {report['levels']}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in report["versions"].items())),
        ("run", report["run"]),
    )
    return _table((), rows)


def _counts(counts: Mapping[str, int]) -> str:
    found = [(word.replace("_", " "), f"{number:,}") for word, number in counts.items() if number]
    return _table(("kind", "records"), found) if found else "<p>No difference, and nothing is gone.</p>"


def _lanes(lanes: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for lane in lanes:
        source, target = lane["source"], lane["target"]
        rows.append(
            (
                f"{source['topic']}-{source['partition']}",
                f"{source['since']:,} to {source['verified_to']:,} of {source['to']:,}",
                f"{target['topic']}-{target['partition']}",
                f"{target['since']:,} to {target['verified_to']:,} of {target['to']:,}",
                f"{source['records']:,} / {target['records']:,}",
                lane["verdict"],
                f"{source['digest']} / {target['digest']}",
            )
        )
    return _table(
        ("source", "offsets", "target", "offsets", "records", "verdict", "digests"), rows, code=frozenset({6})
    )


def _samples(samples: Sequence[Mapping[str, Any]], names: Mapping[str, tuple[str, str]]) -> str:
    rows = [
        (
            *names.get(one["lane"], (one["lane"], "")),
            one["kind"] + (f": {', '.join(one['fields'])}" if one["fields"] else ""),
            "" if one["source_offset"] is None else f"{one['source_offset']:,}",
            "" if one["target_offset"] is None else f"{one['target_offset']:,}",
            "" if one["contents"] is None else "; ".join(f"{side}: {text}" for side, text in one["contents"].items()),
        )
        for one in samples
    ]
    return _table(("source", "target", "what", "source offset", "target offset", "contents"), rows, code=frozenset({5}))


def _pairs(items: Iterable[Mapping[str, Any]], *names: str) -> list[tuple[str, ...]]:
    return [tuple(str(item[name]) for name in names) for item in items]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], code: frozenset[int] = frozenset()) -> str:
    top = f"<tr>{''.join(f'<th>{escape(name)}' for name in head)}" if head else ""
    body = "".join(f"<tr>{''.join(_cell(text, at in code) for at, text in enumerate(row))}" for row in rows)
    return f"<div class=wide><table>{top}{body}</table></div>"


def _cell(text: str, code: bool) -> str:
    written = escape(str(text))
    return f"<td><code>{written}</code>" if code else f"<td>{written}"


def _moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
