"""Faults under load: a schedule from a seed, injected into processes, brokers and networks.

``schedule`` decides which faults and when, from a seed; ``FaultInjector`` injects them; ``run_episode`` runs a link
under both and says whether a record was lost, repeated, reordered or altered.
"""

from qa.faults.episode import EpisodeResult, EpisodeSpec, run_episode
from qa.faults.schedule import FaultKind, Injection, schedule

__all__ = ["EpisodeResult", "EpisodeSpec", "FaultKind", "Injection", "run_episode", "schedule"]
