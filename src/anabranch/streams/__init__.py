"""SQL jobs on streams, as values: scripts, tables, versions, lineage; pure."""
