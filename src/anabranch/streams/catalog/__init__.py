"""The catalog: databases, tables, views and functions with their owners and versions; pure."""
