"""The data plane on Spark; the only package that imports pyspark."""
