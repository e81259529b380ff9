"""How a process that trains keeps its memory."""

import ctypes
import sys


def keep_freed_memory() -> None:
    """Let glibc keep up to 1 GiB of what a training step frees, for the next step.

    Otherwise the end of every step gives memory back to the system, and the next one pays for the
    same pages again: up to a tenth of a small GPT's step. It is for processes that do nothing but
    train, such as commands and workers. Other C libraries are left as they are.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        trim_threshold, mmap_threshold = -1, -3  # their numbers in malloc.h
        mallopt(trim_threshold, 1 << 30)
        mallopt(mmap_threshold, 1 << 25)  # the largest there is
