"""A worker's leases: which lanes it has, the tasks that copy them, and what it reads of what is wanted."""
