"""Breaks of the code, one at a time, and whether the unit tests and the simulation find them: ``make mutants``."""
