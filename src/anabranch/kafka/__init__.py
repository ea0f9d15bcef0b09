"""The only package that speaks to Kafka: connections, requests, codecs of the hot path, administration."""
