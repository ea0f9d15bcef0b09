"""Frozen values of the domain: clusters, topics, links, lanes and reports; no I/O, no Kafka client, no Spark."""
