# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Compare oplt with other systems: one machine, one run, the systems taking turns.

Run: OPLT_DATA=<folder> python benchmarks/peers/run.py [data sets] [--nxc <path of nxc>] [--out <folder>]

Each run is a separate process, so that peak memory is measured per run. A system that is not installed is skipped,
saying how to install it; `make bench` installs those that are Python packages. `--systems oplt nxc-` takes the system
`oplt` and all whose names begin with `nxc-`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from systems import SYSTEMS
from table import NOTE, markdown, medians

BIG = ["nvd-cpe", "tibkat-gnd", "yso-finna-en"]
PACKAGES = ["oplt", "omikuji", "libpecos", "vowpalwabbit", "scikit-learn", "numpy", "scipy"]
ONE_THREAD = {f"{kind}_NUM_THREADS": "1" for kind in ("OMP", "OPENBLAS", "MKL", "RAYON", "NUMEXPR")}


def main() -> None:
    """Run all, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=BIG, help=f"data sets (default: {' '.join(BIG)})")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), help=f"of {' '.join(SYSTEMS)} (default: all)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each system (default: 3)")
    parser.add_argument(
        "--test-rows", type=int, help="use only the first TEST_ROWS rows of the test set (default: all)"
    )
    parser.add_argument("--out", type=Path, help="folder for results.json and results.md")
    parser.add_argument("--nxc", default=os.environ.get("NXC"), help="path of the program of the paper's authors")
    arguments = parser.parse_args()
    chosen = [system for system in SYSTEMS if any(matches(system, wanted) for wanted in arguments.systems)]
    if not chosen:
        parser.error(f"no system is named so: {' '.join(arguments.systems)}; there are {' '.join(SYSTEMS)}")
    environment = os.environ | ONE_THREAD | ({"NXC": arguments.nxc} if arguments.nxc else {})
    results: dict[str, Any] = {"machine": machine(), "test rows": arguments.test_rows or "all", "data": {}}
    for name in arguments.names:
        with tempfile.TemporaryDirectory() as folder:
            limit = [] if arguments.test_rows is None else [str(arguments.test_rows)]
            prepared = start("prepare", name, folder, environment, *limit)
            if prepared.returncode:
                print(f"{name} is left out: {last_line(prepared.stderr)}")
                continue
            results["data"][name] = outcomes = compare(name, folder, chosen, arguments.repeats, environment)
        print(markdown(name, outcomes), flush=True)
        if arguments.out:  # after each data set, so that an interrupted run leaves results
            write(arguments.out, results)
    print(f"\n{NOTE}")


def matches(system: str, wanted: str) -> bool:
    """Tell whether a system has this name, or, if none has, begins with it."""
    return system == wanted or (wanted not in SYSTEMS and system.startswith(wanted))


def compare(name: str, folder: str, chosen: list[str], repeats: int, environment: dict[str, str]) -> dict[str, Any]:
    """Run the systems in turn; one that was skipped or failed is not run again."""
    outcomes: dict[str, Any] = {system: {"runs": []} for system in chosen}
    for turn in range(repeats):
        for system, outcome in outcomes.items():
            if "skipped" in outcome:
                continue
            print(f"{name}, turn {turn + 1} of {repeats}: {system}", file=sys.stderr)
            done = start(system, name, folder, environment)
            if done.returncode:
                outcome["skipped"] = f"failed: {last_line(done.stderr)}"
                continue
            answer = json.loads(done.stdout.splitlines()[-1])
            if "skipped" in answer:
                outcome["skipped"] = answer["skipped"]
            else:
                outcome["runs"].append(answer["result"])
    for outcome in outcomes.values():
        if outcome["runs"]:
            outcome["median"] = medians(outcome["runs"])
    return outcomes


def start(
    system: str, name: str, folder: str, environment: dict[str, str], *more: str
) -> subprocess.CompletedProcess[str]:
    """Run a worker to its end."""
    command = [sys.executable, str(Path(__file__).with_name("worker.py")), system, name, folder, *more]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def last_line(text: str) -> str:
    """Return the last line of an error."""
    return (text.strip() or "no message").splitlines()[-1]


def machine() -> dict[str, Any]:
    """Describe the processor and the versions."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = next((line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name")), "")
    installed = {package.metadata["Name"]: package.version for package in metadata.distributions()}
    versions = {package: installed[package] for package in PACKAGES if package in installed}
    return {"processor": model, "cores": os.cpu_count(), "python": platform.python_version(), "versions": versions}


def write(out: Path, results: dict[str, Any]) -> None:
    """Write results.json and results.md."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps(results, indent=1))
    tables = [markdown(name, outcomes) for name, outcomes in results["data"].items()]
    versions = ", ".join(f"{package} {version}" for package, version in results["machine"]["versions"].items())
    system = f"{results['machine']['processor']}, Python {results['machine']['python']}, {versions}"
    (out / "results.md").write_text("\n\n".join([system, *tables, NOTE]) + "\n")


if __name__ == "__main__":
    main()
