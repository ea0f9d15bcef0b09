"""Real Flink, driven by lines of JSON: for the tests and the demo."""
