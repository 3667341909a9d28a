"""Builds the stoker program into the package, where the source and Go are at hand."""

import os
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

SOURCE = Path(__file__).resolve().parent.parent
PROGRAM = "stoker.exe" if os.environ.get("GOOS", os.name) in ("nt", "windows") else "stoker"


class WithProgram(build_py):
    def run(self):
        super().run()
        if not (shutil.which("go") and (SOURCE / "go.mod").exists()):
            print("no Go and source at hand: the package has no stoker of its own, name one with the variable STOKER")
            return
        into = (Path(self.build_lib) / "stoker_rl" / "bin" / PROGRAM).resolve()
        into.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["go", "build", "-ldflags", "-w", "-o", str(into), "."], cwd=SOURCE, check=True,
                       env={**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOGC": "400"})


class OfPlatform(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):  # the program is of one platform, and no Python's
        return "py3", "none", os.environ.get("STOKER_PLATFORM") or super().get_tag()[2]


setup(cmdclass={"build_py": WithProgram, "bdist_wheel": OfPlatform})
