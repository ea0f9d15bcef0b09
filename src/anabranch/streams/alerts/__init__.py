"""Alerts of streams: what is looked at, when it is an alert, and what is told of it."""
