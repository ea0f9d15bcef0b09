"""Page views and unique visitors: a stream in SQL, its clicks, and what should come of them by other means."""
