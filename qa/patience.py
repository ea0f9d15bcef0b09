"""How long tests and harnesses wait for a condition before it counts as a failure: one number, scaled.

Nothing that is asserted hangs on it.  ``ANABRANCH_PATIENCE=3`` makes everything three times as patient.
"""

from __future__ import annotations

import os

SCALE = float(os.environ.get("ANABRANCH_PATIENCE", "1"))
PATIENCE_S = 120.0 * SCALE
"""For an answer, a leader, a file: what a healthy machine has within seconds."""
LONG_S = 5 * PATIENCE_S
"""For whole processes and for catching up: what takes a minute on a healthy machine."""
