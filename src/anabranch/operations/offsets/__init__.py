"""Offsets of a link: translated, exported, and rebuilt for topics that another tool copied."""
