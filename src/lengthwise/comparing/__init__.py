"""Every remedy x task x length under the same rules, on one page."""

from lengthwise.comparing.built_in import built_in_study
from lengthwise.comparing.entries import Entry
from lengthwise.comparing.folder import StudyFolder
from lengthwise.comparing.readings import Reading, read
from lengthwise.comparing.run import run
from lengthwise.comparing.study import Study

__all__ = ["Entry", "Reading", "Study", "StudyFolder", "built_in_study", "read", "run"]
