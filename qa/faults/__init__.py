"""Faults under load: a pure schedule of strikes, and strikes on real processes, brokers and networks.

``schedule`` decides what is struck and when, from a seed; ``Striker`` strikes; ``run_episode`` runs a link under
both and says whether a record was lost, repeated, reordered or altered.
"""

from qa.faults.episode import EpisodeSpec, Verdict, run_episode
from qa.faults.schedule import FaultKind, Strike, schedule

__all__ = ["EpisodeSpec", "FaultKind", "Strike", "Verdict", "run_episode", "schedule"]
