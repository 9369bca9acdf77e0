"""Functions of CUDA sources in ggml's style, and which of them a text reaches by the names in it."""
import re
from typing import NamedTuple

MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n]*\\\n)*[^\n]*)$", flags=re.M)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", flags=re.M)
NOT_NAMES = {"__launch_bounds__", "__align__", "alignas", "decltype", "sizeof", "float", "void", "int"}
# Every function has one; its streams and pools launch nothing.
EVERYWHERE = {"ggml_backend_cuda_context"}


class Function(NamedTuple):
    """A function, a struct or a macro."""
    file: str
    name: str
    head: str
    body: str

    @property
    def text(self):
        return self.head + self.body

    @property
    def kernel(self):
        return "__global__" in self.head


def uncommented(text):
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)


class Sources:
    """The files of a folder."""

    def __init__(self, folder):
        self.texts = {p.name: uncommented(p.read_text()) for p in sorted(folder.glob("*.cu*"))
                      if p.suffix in (".cu", ".cuh") and not p.name.startswith("catena")}
        self.functions = []
        for file, text in self.texts.items():
            self.functions += [Function(file, m[1], "", m[2]) for m in MACRO.finditer(text)]
            for part in self.parts(DIRECTIVE.sub("", text)):
                name, head, body = self.defined(part)
                if name is not None and name not in EVERYWHERE:
                    self.functions.append(Function(file, name, head, body))
        self.by_name = {}
        for f in self.functions:
            self.by_name.setdefault(f.name, []).append(f)

    @staticmethod
    def parts(text):
        """A definition each, with what stands before it: it ends where a line begins with a brace, or is one line."""
        part = ""
        for line in text.splitlines(keepends=True):
            part += line
            if line.startswith("}") or (not line[0].isspace() and re.search(r"\};?\s*$", line)):
                yield part
                part = ""

    @staticmethod
    def closing(text, at):
        """Behind the parenthesis that closes the one at `at`."""
        depth = 0
        for i in range(at, len(text)):
            depth += (text[i] == "(") - (text[i] == ")")
            if depth == 0:
                return i + 1
        raise ValueError("a parenthesis is not closed")

    @staticmethod
    def defined(part):
        """Name, head and body of what ends a part of a file; declarations before it are left out."""
        depth, begin, name = 0, 0, None
        for m in re.finditer(r"(\w+)?\s*([(){;])", part):
            if m[2] == ";" and depth == 0:
                begin, name = m.end(), None
            elif m[2] == "{" and depth == 0:
                head = part[begin:m.start(2)]
                struct = re.search(r"\b(?:struct|class)\s+(\w+)[^(){};<]*$", head)
                return struct[1] if struct else name, head, part[m.start(2):]
            elif m[2] == "(":
                if depth == 0 and m[1] and m[1] not in NOT_NAMES:
                    member = part[:m.start()].rstrip(" ~").endswith("::")
                    name = None if member else m[1]
                depth += 1
            elif m[2] == ")":
                depth -= 1
        return None, "", ""

    def called(self, name):
        return self.by_name.get(name, [])

    def reached(self, text):
        """The functions whose names stand in the text, or in what is reached from there."""
        out, todo, seen = [], [text], set()
        while todo:
            for name in set(re.findall(r"\w+", todo.pop())) - seen:
                seen.add(name)
                out += self.called(name)
                todo += [f.text for f in self.called(name)]
        return out
