"""Migrations: what clusters hold, a first plan, and the plan of a file."""
