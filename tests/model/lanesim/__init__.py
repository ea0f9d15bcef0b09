"""A simulated target partition, journal and network, on which owners run the real lane protocol."""
