# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Write the licences of what is linked into the extension, and a bill of materials (CycloneDX): CMake runs it.

Usage: third_party.py VERSION_OF_OPLT FOLDER. The source is the installed nanobind, which contains robin_map.
"""

import json
import re
import sys
from importlib import metadata
from pathlib import Path


def licence_of_nanobind() -> str:
    """Return the text that the installed package has."""
    for file in metadata.files("nanobind") or ():
        if file.name == "LICENSE":
            return file.read_text()
    raise SystemExit("third_party.py: the installed nanobind has no file LICENSE")


def licence_of_robin_map() -> str:
    """Return the comment at the beginning of its header."""
    for file in metadata.files("nanobind") or ():
        if file.as_posix().endswith("tsl/robin_map.h"):
            comment = re.match(r"/\*\*?\n(.*?)\*/", file.read_text(), re.DOTALL)
            if comment:
                return re.sub(r"(?m)^ \* ?", "", comment[1]).rstrip() + "\n"
    raise SystemExit("third_party.py: the installed nanobind has no tsl/robin_map.h that begins with its licence")


def bill_of_materials(version: str) -> dict[str, object]:
    """Return what the extension consists of. It has no time stamp: equal sources give equal wheels."""
    nanobind = metadata.version("nanobind")
    mit, bsd = [{"license": {"id": "MIT"}}], [{"license": {"id": "BSD-3-Clause"}}]
    component = {"type": "library", "scope": "required"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": "oplt",
                "name": "oplt",
                "version": version,
                "purl": f"pkg:pypi/oplt@{version}",
                "licenses": mit,
            }
        },
        "components": [
            {
                **component,
                "bom-ref": "nanobind",
                "name": "nanobind",
                "version": nanobind,
                "purl": f"pkg:pypi/nanobind@{nanobind}",
                "licenses": bsd,
            },
            {
                **component,
                "bom-ref": "robin-map",
                "name": "robin-map",
                "description": f"the copy in nanobind {nanobind}",
                "purl": "pkg:github/tessil/robin-map",
                "licenses": mit,
            },
        ],
        "dependencies": [
            {"ref": "oplt", "dependsOn": ["nanobind"]},
            {"ref": "nanobind", "dependsOn": ["robin-map"]},
            {"ref": "robin-map", "dependsOn": []},
        ],
    }


if __name__ == "__main__":
    version, folder = sys.argv[1], Path(sys.argv[2])
    texts = {"nanobind": licence_of_nanobind(), "robin_map": licence_of_robin_map()}
    for name, text in texts.items():
        path = folder / "licenses" / name / "LICENSE"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    path = folder / "sboms" / "oplt.cdx.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(bill_of_materials(version), indent=2) + "\n")
