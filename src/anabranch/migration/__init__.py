"""Migrations: what is asked for, what is known of both clusters, the steps, and what forbids them.  Pure."""
