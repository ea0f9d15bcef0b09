"""Copying lanes: planning them, taking them over, and moving their batches; asyncio, without Spark."""
