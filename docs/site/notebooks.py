"""A notebook as a page: its text, its code, and what the code gave."""

import json
import re
from pathlib import Path


def as_markdown(path: Path) -> str:
    """The cells of a notebook with their outputs, as Markdown."""
    parts: list[str] = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            parts += _given(output, source)
    return "\n\n".join([*parts, ""])


def _given(output: dict, source: str) -> list[str]:
    if output["output_type"] == "stream":
        return [f"```text\n{''.join(output['text']).rstrip()}\n```"]
    data = output.get("data", {})
    if "image/png" in data:
        # The title that the code gives its figure says what is to be seen.
        title = re.search(r'title="([^"]+)"', source)
        image = "".join(data["image/png"]).replace("\n", "")
        return [f"![{title[1] if title else 'Figure'}](data:image/png;base64,{image})"]
    if "text/plain" in data:
        return [f"```text\n{''.join(data['text/plain'])}\n```"]
    return []
