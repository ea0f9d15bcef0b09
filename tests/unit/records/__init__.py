"""Unit tests of the record package, with one set of strategies."""
