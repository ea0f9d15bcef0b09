"""Lineage of tables and columns, from Spark's analysed plans; pure."""
