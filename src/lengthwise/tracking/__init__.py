"""Numbers of a training for other people's trackers, on the side and at no risk to it."""

from lengthwise.tracking._background import Tracking, start
from lengthwise.tracking._base import TRACKERS, Sink, TrackerName, require_tracker

__all__ = ["TRACKERS", "Sink", "TrackerName", "Tracking", "require_tracker", "start"]
