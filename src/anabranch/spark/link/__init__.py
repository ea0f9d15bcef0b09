"""A link as a streaming query: leases planned in the driver, lanes copied in tasks."""
