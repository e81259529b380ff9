"""Put a study beside docs/results/compare/README.md, and renew the table of that page.

python docs/make_compare_results.py STUDY
"""

import re
import shutil
import sys
from pathlib import Path

from lengthwise.comparing import StudyFolder
from lengthwise.comparing.records import to_bytes
from lengthwise.comparing.write import write_page
from lengthwise.files import write_text

RESULTS = Path(__file__).parent / "results" / "compare"
MARKS = re.compile(r"(<!-- table -->\n).*?(<!-- end -->)", re.DOTALL)


def main(source: Path) -> None:
    """Copy what was recorded, as one file, and make everything else of it."""
    kept = StudyFolder.open(source).records()
    shutil.copy(source / "study.json", RESULTS / "study.json")
    shutil.rmtree(RESULTS / "records", ignore_errors=True)
    (RESULTS / "records").mkdir()
    folder = StudyFolder.open(RESULTS)
    folder.add(to_bytes(kept))
    write_page(folder)
    table = (RESULTS / "table.md").read_text(encoding="utf-8")
    page = (RESULTS / "README.md").read_text(encoding="utf-8")
    write_text(RESULTS / "README.md", MARKS.sub(lambda found: found[1] + table + found[2], page))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
