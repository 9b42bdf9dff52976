"""Wing: monitoring of a ranker in service, with few false alarms at any time."""

from skrank_abstain.monitor._monitor import Monitor, MonitorDisplay

__all__ = ["Monitor", "MonitorDisplay"]
