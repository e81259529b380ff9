"""`python -m lengthwise` is the `lengthwise` command."""

import sys

from lengthwise.cli import main

if __name__ == "__main__":
    sys.exit(main())
