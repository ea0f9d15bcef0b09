"""Migrations: what clusters hold, the plan of a file, and the engine that goes through the steps of its waves."""
