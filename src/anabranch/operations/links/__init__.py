"""Links: created, shown, changed, stopped, deleted; decisions; transactions that hang."""
