# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Run one system on one data set and print its figures as JSON; `run.py` starts one process for each.

Run: python benchmarks/peers/worker.py <system> <data set> <folder of the prepared data set>

The pseudo-system `prepare` writes that folder; a number of test rows may follow.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from common import DataSet, Skipped
from systems import SYSTEMS


def main() -> None:
    """Print {"result": …}, or {"skipped": why}."""
    system, name, folder, *test_rows = sys.argv[1:]
    data = DataSet(name, Path(folder))
    if system == "prepare":
        data.prepare(*map(int, test_rows))
        return
    module, settings = SYSTEMS[system]
    with tempfile.TemporaryDirectory() as workdir:
        try:
            result = importlib.import_module(f"systems.{module}").run(data, Path(workdir), **settings)
        except Skipped as reason:
            print(json.dumps({"skipped": str(reason)}))
        else:
            print(json.dumps({"result": asdict(result)}))


if __name__ == "__main__":
    main()
