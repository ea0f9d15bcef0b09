"""Rows into Elasticsearch, whose bulk API is OpenSearch's."""

from __future__ import annotations

from dataclasses import replace

from anabranch.spark.streams.sinks import opensearch

KIND = replace(opensearch.KIND, provider="elasticsearch")
