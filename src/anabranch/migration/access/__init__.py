"""Access rules and quotas of a migration: which the target is to have, and what that changes there.  Pure."""
