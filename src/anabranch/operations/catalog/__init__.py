"""What is done with the catalog: define, drop, grant, import, and load for a run."""
