"""Artifacts: uploaded, looked at, saved and deleted; each verb plans, and applies its plan."""
