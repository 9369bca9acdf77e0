"""The program of scripts/llama-bench: where it is, what it is, and how it is run."""
import contextlib
import hashlib
import json
import lzma
import math
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

from ab_record import Problem

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build/llama-bench"


class TimeIsUp(Exception):
    pass


class Ended(Problem):
    """The program did not end by itself. What it would have done next may still work."""


class Program:
    """llama_ab, until the end of the call."""

    def __init__(self, path, log):
        self.path, self.log, self.end = path, log, math.inf

    def left(self):
        return self.end - time.monotonic()

    def last_words(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file if line.strip()]
        return lines[-1] if lines else "it said nothing"

    def lines(self, arguments, text="", environment=None, patience=3600):
        """The lines that it prints, as it prints them, each within `patience` seconds. Then Problem says how it failed,
        if it did."""
        with subprocess.Popen([self.path, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                              text=True, env={"GGML_CUDA_PDL": "1", **os.environ, **(environment or {})}) as process:
            guard = self.guarded(process, patience)
            try:
                with contextlib.suppress(BrokenPipeError):  # the exit code says more
                    process.stdin.write(text)
                    process.stdin.close()
                for line in process.stdout:
                    guard.cancel()
                    yield line
                    guard = self.guarded(process, patience)
                code = process.wait()
            finally:
                guard.cancel()
                process.kill()
        self.check(code, patience)

    def guarded(self, process, patience):
        timer = threading.Timer(max(0, min(patience, self.left())), process.kill)
        timer.daemon = True
        timer.start()
        return timer

    def check(self, code, patience):
        if code == -signal.SIGKILL and self.left() <= 0:
            raise TimeIsUp
        if code == -signal.SIGKILL:
            raise Ended(f"not done after {patience} s")
        if code < 0:
            raise Ended(f"llama_ab was ended by {signal.Signals(-code).name}: {self.last_words()}")
        if code == 127:  # what the loader said
            raise Problem(f"{self.last_words()}: run it on a machine with a GPU, its driver and the CUDA toolkit")
        if code > 0:
            raise Problem(self.last_words().removeprefix("llama_ab: "))

    def facts(self):
        return json.loads("".join(self.lines(["facts"])))


def program_path(asked, name):
    """The program; what scripts/llama-bench built travels packed."""
    if asked:
        path = Path(asked)
    else:
        path, packed = BUILT / name, BUILT / f"{name}.xz"
        if packed.exists() and (not path.exists() or path.stat().st_mtime < packed.stat().st_mtime):
            with lzma.open(packed) as source, open(path, "wb") as to:
                shutil.copyfileobj(source, to)
            path.chmod(0o755)
    if not os.access(path, os.X_OK):
        raise Problem(f"{path}: there is no such program: run scripts/llama-bench build where nvcc is")
    return path.resolve()


def said_by(catena, *arguments):
    """What the command prints."""
    try:
        return subprocess.run([str(word) for word in (catena, *arguments)], capture_output=True, text=True, check=True).stdout
    except OSError as error:
        raise Problem(f"{catena} cannot be run: {error.strerror}: name the catena command by --catena") from None
    except subprocess.CalledProcessError as error:
        raise Problem(f"catena {arguments[0]} failed: {error.stderr.strip()}") from None


def driver():
    try:
        asked = ["nvidia-smi", "--id=0", "--format=csv,noheader",
                 "--query-gpu=driver_version,clocks.max.sm,clocks.max.memory"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def provenance(program, simulated):
    facts = program.facts()
    digest = hashlib.sha256(program.path.read_bytes()).hexdigest()[:16]
    return {**facts, "driver, highest clocks": "" if simulated else driver(), "program": digest,
            "environment": {name: value for name, value in sorted(os.environ.items())
                            if name.startswith(("CATENA_", "GGML_")) and name != "CATENA_MINUTES"}}
