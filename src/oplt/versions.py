# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What a report of a problem needs: versions of packages, the platform, and the kernels."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata

from oplt import _core
from oplt.errors import InvalidParameterError

__all__ = ["kernels", "show_versions"]

_FRAMES = ("pandas", "polars")  # used if examples are frames; no extra installs them


def show_versions() -> None:
    """Print the versions of oplt and of the packages that it uses, the platform, and the kernels.

    Optional packages are listed if they are installed. The kernels are the inner loops of the classifiers, compiled for
    several instruction sets: the fastest that this machine can run are used, unless the environment variable
    ``OPLT_KERNELS`` names others. All give the same results, to the bit.

    Examples
    --------
    >>> show_versions()  # doctest: +ELLIPSIS
    System
      python      ...
      platform    ...
      processors  ...
      kernels     ... (this machine can run ...)
    <BLANKLINE>
    Packages
      oplt ...
    ...
    """
    print(_table("System", _system()))  # noqa: T201 (what its name says)
    print(_table("\nPackages", _packages()))  # noqa: T201


def kernels() -> str:
    """Name the kernels in use, and all that this machine can run, for people."""
    return f"{_core.kernels_in_use()} (this machine can run {' and '.join(_core.available_kernels())})"


def _system() -> dict[str, str]:
    try:
        used = kernels()
    except InvalidParameterError as error:
        used = str(error)
    return {
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "platform": platform.platform(),
        "processors": str(os.cpu_count()),
        "kernels": used,
    }


def _packages() -> dict[str, str]:
    """Return the versions of oplt, of the packages that it requires, and of the optional ones that are installed."""
    found = {"oplt": metadata.version("oplt")}
    for requirement in [*(metadata.requires("oplt") or ()), *_FRAMES]:
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _table(title: str, rows: dict[str, str]) -> str:
    widest = max(map(len, rows))
    return "\n".join([title, *(f"  {name.ljust(widest)}  {value}" for name, value in rows.items())])
