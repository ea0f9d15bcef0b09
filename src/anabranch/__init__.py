"""Anabranch moves Kafka clusters under running applications, exactly."""

__version__ = "0.1.0"
