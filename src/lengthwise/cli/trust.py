"""`lengthwise trust`."""

from dataclasses import dataclass
from pathlib import Path

import tyro


@dataclass
class Trust:
    """Show the Python code inside a run folder or a checkpoint of somebody else's, and trust it.

    Code that you gave by its path yourself is trusted already. Other code is not run by resume,
    show or load_model until you have read it here and said --yes.

    Example: lengthwise trust runs/from-a-colleague
    """

    path: tyro.conf.Positional[Path]
    """A run folder, or a checkpoint that save_model wrote."""

    yes: bool = False
    """Trust it: from now on it is run where it is needed."""

    def run(self) -> int:
        """Print the code; trust it if asked."""
        from lengthwise.runs.models import files_in
        from lengthwise.trust import trust

        files = files_in(self.path)
        for key, text in files.items():
            print(f"# {key}\n{text.rstrip()}\n")
        if not files:
            print(f"{self.path} holds no code")
        elif self.yes:
            for text in files.values():
                trust(text)
            print(f"trusted: {', '.join(files)}")
        else:
            print(f"to let it run: lengthwise trust {self.path} --yes")
        return 0
