"""From a stored link to lanes and leases: which topics there are, what the target must have, who copies what."""
