"""Unit tests of the offset maps, with one set of strategies."""
