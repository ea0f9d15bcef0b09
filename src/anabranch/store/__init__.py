"""What lives in a database: accounts, plans that were shown, operations, instances, and who did what.

SQLite by default, PostgreSQL for several instances.  What must outlive the service lives on the target cluster instead.
"""
