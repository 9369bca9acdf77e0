"""every_model ROOT LLAMA_AB: the rehearsal of scripts/llama-bench with all models. The rows of all count."""
import subprocess
import sys
import tempfile

root, program = sys.argv[1:]
with tempfile.TemporaryDirectory() as out:
    done = subprocess.run([f"{root}/scripts/llama-bench", "run", out, "--rehearse", "--program", program,
                           "--files", out])
    with open(f"{out}/table.md", encoding="utf-8") as file:
        rows = file.read().count("| agree |")
    print(rows, "rows count")
    sys.exit(done.returncode or rows != 15)
