"""Wing: a watch over a ranker in service, with few false alarms for ever."""

from skrank_abstain.monitor._monitor import Monitor, MonitorDisplay

__all__ = ["Monitor", "MonitorDisplay"]
