# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Build wheels for Linux on any Linux machine, with Zig as the compiler.

`make wheels` runs it in an environment that has the tools.

Usage: wheels.py FOLDER [PLATFORM...], where the wheels go, and which ones (default: all).

Zig carries the C libraries of many platforms, so that one machine builds for all. The extension uses Python's stable
ABI: a wheel that is built with Python 3.12 serves all later versions. What is built for another platform cannot be
imported here, so the type stub of the first wheel, which is for this machine, goes into the others, too.
"""

import os
import stat
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PROJECT = Path(__file__).parent.parent
# platform tag -> Zig's name of it, processor
PLATFORMS = {
    "manylinux_2_17_x86_64": ("x86_64-linux-gnu.2.17", "x86_64"),
    "manylinux_2_17_aarch64": ("aarch64-linux-gnu.2.17", "aarch64"),
    "musllinux_1_2_x86_64": ("x86_64-linux-musl", "x86_64"),
    "musllinux_1_2_aarch64": ("aarch64-linux-musl", "aarch64"),
}


def program(path: Path, command: str) -> Path:
    """Write a program that CMake can call by its path. Zig spells one name of a processor differently."""
    path.write_text(f'#!/bin/bash\nexec {sys.executable} -m ziglang {command} "${{@/x86-64-v2/x86_64_v2}}"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def options(folder: Path, platform: str, stub: Path | None) -> list[str]:
    """Return the options of CMake."""
    target, processor = PLATFORMS[platform]
    defined = {
        # nanobind 3 does not include what libc++, unlike libstdc++, does not include either
        "CMAKE_CXX_FLAGS": "-include cstdio",
        "CMAKE_CXX_COMPILER": program(folder / "c++", f"c++ -target {target}"),
        "CMAKE_AR": program(folder / "ar", "ar"),
        "CMAKE_RANLIB": program(folder / "ranlib", "ranlib"),
        "CMAKE_HAVE_LIBC_PTHREAD": "ON",
        "CMAKE_CXX_SCAN_FOR_MODULES": "OFF",
    }
    if stub is not None:
        defined |= {"CMAKE_SYSTEM_NAME": "Linux", "CMAKE_SYSTEM_PROCESSOR": processor, "OPLT_STUB": stub}
    return [f"-Ccmake.define.{name}={value}" for name, value in defined.items()]


def build(platform: str, folder: Path, stub: Path | None) -> Path:
    """Build a wheel and return its path."""
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "wheel"
        trees = PROJECT / "build" / "wheels"
        tools = trees / f"zig-{platform}"
        tools.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", str(made)]
        settings = [f"-Cbuild-dir={trees / platform}", *options(tools, platform, stub)]
        # Without it, the wheel would be tagged for this machine's processor.
        environment = os.environ | {"_PYTHON_HOST_PLATFORM": f"linux-{PLATFORMS[platform][1]}"}
        subprocess.run([*command, *settings, str(PROJECT)], check=True, env=environment)
        (wheel,) = made.glob("*.whl")
        tags = [sys.executable, "-m", "wheel", "tags", "--platform-tag", platform, str(wheel)]
        name = subprocess.run(tags, check=True, capture_output=True, text=True).stdout.strip()
        folder.mkdir(parents=True, exist_ok=True)
        return (made / name).replace(folder / name)


def stub_of(wheel: Path) -> Path:
    """Extract the type stub."""
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract("oplt/_core.pyi", PROJECT / "build" / "wheels"))


def main() -> None:
    """Build all."""
    folder, *platforms = sys.argv[1:]
    first = next(name for name, (_, processor) in PLATFORMS.items() if processor == os.uname().machine)
    wanted = platforms or list(PLATFORMS)
    stub = None
    for platform in sorted({first, *wanted}, key=lambda name: name != first):
        print(f"{platform}: compiling", flush=True)
        wheel = build(platform, Path(folder), stub)
        print(wheel, flush=True)
        stub = stub or stub_of(wheel)


if __name__ == "__main__":
    main()
