#!/usr/bin/env python3
"""functions.py ROOT WORK DOXYGEN: no function of the headers has more than 70 lines; how many there are, and how long."""
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

MOST_LINES = 70

root, work, doxygen = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), sys.argv[3]
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
settings = {
    "INPUT": root / "include", "OUTPUT_DIRECTORY": work, "RECURSIVE": "YES", "FILE_PATTERNS": "*.hpp *.cuh",
    "EXTENSION_MAPPING": "cuh=C++", "GENERATE_HTML": "NO", "GENERATE_LATEX": "NO", "GENERATE_XML": "YES",
    "XML_PROGRAMLISTING": "NO", "EXTRACT_ALL": "YES", "EXTRACT_PRIVATE": "YES", "EXTRACT_STATIC": "YES",
    "EXTRACT_LOCAL_CLASSES": "YES", "QUIET": "YES", "WARNINGS": "NO",
    # Without these a reader of declarations takes the macro for the type.
    "MACRO_EXPANSION": "YES", "EXPAND_ONLY_PREDEF": "YES", "PREDEFINED": "CATENA_FN= CATENA_NO_INLINE= CATENA_NAMESPACE=catena",
}
subprocess.run([doxygen, "-"], input="\n".join(f"{key} = {value}" for key, value in settings.items()), text=True, check=True)

lengths = {}
for page in (work / "xml").glob("*.xml"):
    for member in ElementTree.parse(page).iter("memberdef"):
        at = member.find("location")
        if member.get("kind") != "function" or at is None or int(at.get("bodyend", "-1")) < 0:
            continue
        place = Path(at.get("bodyfile")).relative_to(root) if Path(at.get("bodyfile")).is_absolute() else at.get("bodyfile")
        key = f"{place}:{at.get('bodystart')}: {member.findtext('name')}"
        lengths[key] = int(at.get("bodyend")) - int(at.get("bodystart")) + 1
if len(lengths) < 1000:
    sys.exit(f"doxygen found {len(lengths)} functions in the headers, which cannot be all")
long = sorted((key for key in lengths if lengths[key] > MOST_LINES), key=lengths.get)
print(f"{len(lengths)} functions, {sum(lengths.values()) / len(lengths):.1f} lines in the mean, "
      f"{max(lengths.values())} at most")
for key in long:
    print(f"{key} has {lengths[key]} lines, at most {MOST_LINES} are read at a glance: divide it")
sys.exit(bool(long))
