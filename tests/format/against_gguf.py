"""Checks Catena's blocks against Python's packages: our decoder for every format, our encoder where
the encoding leaves no choice. Every value and byte must be the same; NaNs count as one. gguf knows
most formats, ml_dtypes knows fp8; tests/ggml compares the rest with ggml itself.

    against_gguf.py PATH_OF_gguf_blocks
"""

import pathlib
import subprocess
import sys
import tempfile

try:
    import ml_dtypes
    import numpy
    from gguf import quants
    from gguf.constants import GGMLQuantizationType
except ImportError as missing:
    sys.exit(f"{missing}. This test compares with the packages gguf and ml_dtypes: run "
             f"'{sys.executable} -m pip install gguf ml_dtypes', or point the CMake variable "
             f"CATENA_PYTHON at a Python that has it.")

SAME_BYTES = {"f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "tq1_0", "tq2_0", "fp8_e4m3"}
UNKNOWN_TO_GGUF = {"q1_0", "q2_0"}


def differing(ours, theirs):
    """Indices where two arrays of numbers differ in a bit, where they are not both NaN."""
    if ours.dtype == numpy.float32:
        differs = (ours.view(numpy.uint32) != theirs.view(numpy.uint32)) & ~(
            numpy.isnan(ours) & numpy.isnan(theirs))
    else:
        differs = ours != theirs
    return numpy.flatnonzero(differs)


def check(what, ours, theirs):
    if ours.size == 0 or ours.shape != theirs.shape:
        return [f"{what}: {ours.shape} of ours, {theirs.shape} of theirs"]
    wrong = differing(ours, theirs)
    if wrong.size == 0:
        print(f"{what}: {ours.size} equal")
        return []
    at = wrong[0]
    return [f"{what}: {wrong.size} of {ours.size} differ, first at {at}: "
            f"{ours[at]} of ours, {theirs[at]} of theirs"]


def dequantize(name, blocks):
    if name == "fp8_e4m3":
        return blocks.view(ml_dtypes.float8_e4m3fn).astype(numpy.float32)
    return quants.dequantize(blocks, GGMLQuantizationType[name.upper()])


def quantize(name, values):
    if name == "fp8_e4m3":
        return values.astype(ml_dtypes.float8_e4m3fn).view(numpy.uint8)
    return quants.quantize(values, GGMLQuantizationType[name.upper()]).view(numpy.uint8)


def main():
    failures = []
    numpy.seterr(all="ignore")  # random bits make scales that overflow
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        stems = sorted(path.with_suffix("") for path in pathlib.Path(folder).glob("*.blocks"))
        if not stems:
            failures.append(f"{sys.argv[1]} wrote no blocks")
        for stem in stems:
            if stem.name in UNKNOWN_TO_GGUF:
                continue
            blocks = numpy.fromfile(stem.with_suffix(".blocks"), numpy.uint8)
            decoded = numpy.fromfile(stem.with_suffix(".decoded"), numpy.float32)
            failures += check(f"{stem.name} decoded", decoded, dequantize(stem.name, blocks))
            if stem.name in SAME_BYTES:
                values = numpy.fromfile(stem.with_suffix(".values"), numpy.float32)
                encoded = numpy.fromfile(stem.with_suffix(".encoded"), numpy.uint8)
                failures += check(f"{stem.name} encoded", encoded, quantize(stem.name, values))
    sys.exit("\n".join(failures) or 0)


if __name__ == "__main__":
    main()
