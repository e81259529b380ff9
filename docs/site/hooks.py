"""What the site has beside the pages of docs/: its menu, the API reference and shown files.

mkdocs calls the functions below by their names. Results and pages that are added later come into
the menu by themselves, and every page stays one that reads well without the site.
"""

import re
import sys
from pathlib import Path
from posixpath import join, normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))

from notebooks import as_markdown
from reference import API_PAGES, written

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

TUTORIALS = ("new-idea", "pretrained", "training", "paper", "search")
HOW_TO = (
    "averaging", "check", "probe", "compare", "search", "add-a-remedy", "add-a-task", "add-a-model",
    "add-a-claim",
)  # fmt: skip
BACKGROUND = ("remedies", "tasks", "othello", "theory", "vanishing-variance", "design")
ABOUT = {"What changed": "CHANGELOG.md", "Contribute": "CONTRIBUTING.md"}
COMPARISON = "results/compare/page.html"
LANGUAGES = {".py": "python", ".toml": "toml", ".yml": "yaml", ".txt": "text"}

_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_FENCE = re.compile(r"^(```.*?^```)", flags=re.DOTALL | re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make the menu out of the files that are there."""
    named = {*HOW_TO, *BACKGROUND, "index"}
    others = sorted(page.stem for page in DOCS.glob("*.md") if page.stem not in named)
    results = sorted(path.parent.name for path in DOCS.glob("results/*/README.md"))
    config.nav = [
        {"Start": "index.md"},
        {"Tutorials": [f"tutorials/{name}.md" for name in TUTORIALS]},
        {"How to": [f"{name}.md" for name in HOW_TO]},
        {"Background": [f"{name}.md" for name in (*BACKGROUND, *others)]},
        {
            "Results": [
                "results/README.md",
                {"The comparison": COMPARISON},
                *(f"results/{name}/README.md" for name in results),
            ]
        },
        {"API": ["api/index.md", *(f"api/{page.name}.md" for page in API_PAGES)]},
        {"About": [{title: _shown(path)} for title, path in ABOUT.items()]},
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the reference, and a page for every file outside docs/ that a page links to."""
    for name, text in written():
        files.append(File.generated(config, f"api/{name}.md", content=text))
    shown = set(ABOUT.values())
    for page in DOCS.rglob("*.md"):
        shown |= _outside(page.relative_to(ROOT).as_posix(), page.read_text(encoding="utf-8"))
    while shown:  # a page that is shown may link to further ones
        further: set[str] = set()
        for path in sorted(shown):
            text = (ROOT / path).read_text(encoding="utf-8")
            if path.endswith(".md"):
                further |= _outside(path, text)
            elif path.endswith(".ipynb"):
                text = as_markdown(ROOT / path)
            else:
                text = f"# {path}\n\n```{LANGUAGES.get(Path(path).suffix, 'text')}\n{text}\n```\n"
            files.append(File.generated(config, _shown(path), content=text))
        shown = {path for path in further if files.get_file_from_path(_shown(path)) is None}
    for file in files.documentation_pages():
        if file.src_uri.startswith("shown/") or "/results/" in f"/{file.src_uri}":
            file.inclusion = type(file.inclusion).NOT_IN_NAV
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Lead links to files outside docs/ to the pages that show them."""
    uri = page.file.src_uri
    source = _source(uri)
    if uri == "index.md":
        page.meta["hide"] = ["navigation", "toc"]  # all in one screen

    def led(link: re.Match[str]) -> str:
        target = _target(source, link[2])
        if target is None:
            return link[0]
        inside = target.removeprefix("docs/") if _is_page(target) else _shown(target)
        return link[1] + relpath(inside, normpath(join(uri, ".."))) + link[3]

    parts = _FENCE.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(led, part) for part in parts)


def on_post_build(config: MkDocsConfig) -> None:
    """Keep the table that the comparison offers for download, which is a page of the site, too."""
    table = Path(COMPARISON).with_name("table.md")
    (Path(config.site_dir) / table).write_bytes((DOCS / table).read_bytes())


def _shown(path: str) -> str:
    """Where the site shows a file that lies outside docs/."""
    return f"shown/{path.removesuffix('.md')}.md"


def _source(uri: str) -> str:
    """Which file of the repository a page of the site was made of."""
    if not uri.startswith("shown/"):
        return f"docs/{uri}"
    path = uri.removeprefix("shown/")
    bare = path.removesuffix(".md")
    return bare if (ROOT / bare).is_file() else path


def _target(source: str, link: str) -> str | None:
    """The file a link leads to, from the root of the repository; None if it leads elsewhere."""
    if "://" in link or link.startswith(("mailto:", "data:", "/")):
        return None
    target = normpath(join(source, "..", link))
    return target if (ROOT / target).is_file() else None


def _outside(source: str, text: str) -> set[str]:
    """Files outside docs/ that a page links to."""
    text = _FENCE.sub("", text)
    found = {_target(source, link[2]) for link in _LINK.finditer(text)}
    return {path for path in found if path is not None and not _is_page(path)}


def _is_page(path: str) -> bool:
    """Whether the site has a file of the repository as it is; scripts and the rest are shown."""
    return path.startswith("docs/") and not path.endswith(".py")
