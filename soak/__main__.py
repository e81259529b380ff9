"""All tests of a soak, one after the other, each from where it stopped; then the page."""

import subprocess
import sys

from soak._harness import ROOT

TESTS = ("hostile", "kills", "full_disk", "together", "cluster", "untrusted")


def main() -> int:
    """Run all tests to their full counts; 1 if anything is wrong."""
    wrong = 0
    for test in (*TESTS, "report"):
        print(f"== {test}", flush=True)
        words = [sys.executable, "-m", f"soak.{test}", *(sys.argv[1:] if test != "report" else [])]
        wrong += subprocess.run(words, cwd=ROOT, check=False).returncode != 0
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
