"""Checks Catena's minifloats against the ml_dtypes package: every code, and f32 of every exponent.

    against_ml_dtypes.py PATH_OF_minifloat_codes
"""

import pathlib
import subprocess
import sys
import tempfile

try:
    import ml_dtypes
    import numpy
except ImportError as missing:
    sys.exit(f"{missing}. This test compares with the ml_dtypes package: run "
             f"'{sys.executable} -m pip install ml_dtypes', or point the CMake variable "
             f"CATENA_PYTHON at a Python that has it.")

# name, its type, number of codes, largest magnitude
FLOATS = [("e4m3", ml_dtypes.float8_e4m3fn, 256, 448), ("e2m1", ml_dtypes.float4_e2m1fn, 16, 6)]


def check(what, ours, theirs):
    wrong = numpy.flatnonzero((ours != theirs) & ~(numpy.isnan(ours) & numpy.isnan(theirs)))
    if ours.size == 0 or wrong.size:
        return [f"{what}: {wrong.size} of {ours.size} differ" +
                (f", first at {wrong[0]}: {ours[wrong[0]]} of ours, {theirs[wrong[0]]} of "
                 f"ml_dtypes'" if wrong.size else "")]
    print(f"{what}: {ours.size} equal")
    return []


def main():
    failures = []
    numpy.seterr(all="ignore")  # NaNs are narrowed, too
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)

        def read(name, kind):
            return numpy.fromfile(pathlib.Path(folder) / name, kind)

        values = read("values", numpy.float32)
        finite = numpy.isfinite(values)
        for name, kind, codes, largest in FLOATS:
            all_codes = numpy.arange(codes, dtype=numpy.uint8).view(kind)
            failures += check(f"{name} decoded", read(f"{name}.decoded", numpy.float32),
                              all_codes.astype(numpy.float32))
            theirs = numpy.clip(values[finite], -largest, largest).astype(kind).view(numpy.uint8)
            failures += check(f"{name} encoded", read(f"{name}.encoded", numpy.uint8)[finite],
                              theirs & (codes - 1))
        scales = numpy.arange(256, dtype=numpy.uint8).view(ml_dtypes.float8_e8m0fnu)
        failures += check("e8m0 decoded", read("e8m0.decoded", numpy.float32),
                          scales.astype(numpy.float32))
    sys.exit("\n".join(failures) or 0)


if __name__ == "__main__":
    main()
