"""Routes: publishing tables, explaining ways, and what a switch of clients does to clusters."""
