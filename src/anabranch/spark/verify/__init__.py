"""Comparing two clusters on Spark: rounds of chunk sums, then the records of the chunks that differ.

Records are read by Spark's own Kafka source and digested by the JVM: no code that copies has a part in it.
"""
