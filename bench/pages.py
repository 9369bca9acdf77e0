"""Pages whose tables a program makes: the text between the marks `<!-- made by PROGRAM: NAME -->` and `<!-- end -->`."""
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
END = "<!-- end -->"


def table(head, rows):
    lines = ["| " + " | ".join(cells) + " |" for cells in [head, *rows]]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def filled(program, page, blocks):
    """The page with blocks, {name: text}, between its marks."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for name, block in blocks.items():
        mark = f"<!-- made by {program}: {name} -->"
        if text.count(mark) != 1 or END not in text.partition(mark)[2]:
            sys.exit(f"{program}: {page} should have this mark once, and {END} behind it: {mark}")
        head, _, rest = text.partition(mark)
        text = head + mark + "\n" + block + "\n" + END + rest.partition(END)[2]
    return text


def written(made, command, check):
    """Writes each file of made, {path: text}, that has another text, or with check only names it; the exit code."""
    wrong = 0
    for path, text in made.items():
        file = ROOT / path
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        wrong = int(check)
        if check:
            print(f"{path} has other figures: run {command}")
        else:
            file.write_text(text, encoding="utf-8")
            print(path)
    return wrong
