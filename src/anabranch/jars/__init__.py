"""Jars that are not part of any Python package, brought once into Anabranch's own cache."""
