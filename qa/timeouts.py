"""How long tests and harnesses wait for a condition before it counts as a failure: one number, scaled.

No assertion depends on it.  ``ANABRANCH_TIMEOUT_SCALE=3`` makes every timeout three times as long.
"""

from __future__ import annotations

import os

SCALE = float(os.environ.get("ANABRANCH_TIMEOUT_SCALE", "1"))
TIMEOUT_S = 120.0 * SCALE
"""For an answer, a leader, a file: what a healthy machine has within seconds."""
LONG_TIMEOUT_S = 5 * TIMEOUT_S
"""For whole processes and for catching up: what takes a minute on a healthy machine."""
