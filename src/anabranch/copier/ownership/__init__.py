"""Who copies a lane: taking it over, and handing it on between workers of a run."""
