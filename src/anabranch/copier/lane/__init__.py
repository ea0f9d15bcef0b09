"""One lane in a worker, by who owns which state: what was fetched, what is in flight, what lies on the target."""
