#!/usr/bin/env python3
"""links.py ROOT: every link between files leads to a file, and to a heading of it; the version is one."""
import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
pages = [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]
assert len(pages) > 10, "the pages of ROOT are not those of Catena"


def anchors(page):
    """What its headings are called in an address, as GitHub forms it."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}


wrong = []
for page in pages:
    for link in re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", page.read_text()):
        path, _, heading = "".join(link).partition("#")
        if "://" in path:
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            wrong.append(f"{page.relative_to(root)}: no such file: {path}")
        elif heading and heading not in anchors(target):
            wrong.append(f"{page.relative_to(root)}: no such heading: {path}#{heading}")

version = re.search(r"project\(catena VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text()).group(1)
for name, line in ("CITATION.cff", f"version: {version}\n"), ("CHANGELOG.md", f"## {version}"):
    if line not in (root / name).read_text():
        wrong.append(f"{name}: its version is not that of CMakeLists.txt, {version}")
print("\n".join(wrong))
sys.exit(bool(wrong))
