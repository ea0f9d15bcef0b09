"""Where the rows of a streaming query go."""
