"""Runs `stoker eval` for a policy of this process."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ._process import StokerError, program, several
from ._serve import converse, starter


class Evaluation(dict[str, Any]):
    """eval.json. sentence is its verdict in a sentence, folder has report.html and all data."""

    folder: Path

    @property
    def sentence(self) -> str:
        return str(self["summary"])

    def frame(self) -> Any:
        """A row for each policy and metric: mean, its interval, the interquartile mean. Needs pandas."""
        import pandas  # type: ignore[import-untyped,unused-ignore]

        rows = [
            {"policy": p["name"], "kind": p["kind"], "metric": name, **values}
            for p in self["policies"]
            for name, values in p["metrics"].items()
        ]
        return pandas.DataFrame(rows).drop(columns="by_training_seed", errors="ignore")


def experiment(what: str | os.PathLike[str] | dict[str, Any], id: str | None = None) -> tuple[str, str]:
    """A configuration's file, or its name and text, from a dictionary or for an environment's id."""
    if isinstance(what, str) and what.count("/") == 1 and "-v" in what and not os.path.exists(what):
        what = {"env": {"id": what}}
    if not isinstance(what, dict):
        return os.fspath(what), ""
    section = what.get("env")
    if id and (section is None or isinstance(section, dict)):
        what = {**what, "env": {"id": id, **(section or {})}}
    # An experiment names an agent; nobody trains it here.
    return "config", json.dumps({"name": "judged", "agent": {"name": "maddpg"}, **what}, default=plain)  # JSON is YAML


def plain(value: Any) -> Any:
    """A value of NumPy as Python's own, for JSON."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"the configuration has {value!r}, want texts, numbers, lists and dictionaries")


def configuration(what: str | os.PathLike[str] | dict[str, Any], folder: Path) -> str:
    """A configuration's file: as it is, or written."""
    name, text = experiment(what)
    if not text:
        return name
    path = folder / "config.yaml"
    path.write_text(text)
    return str(path)


def evaluate(
    policy: Any,
    config: str | os.PathLike[str] | dict[str, Any],
    seeds: str | None = None,
    baselines: Iterable[str] = (),
    *,
    name: str = "mine",
    sets: Iterable[str] = (),
    out: str | os.PathLike[str] | None = None,
    raw: bool = False,
    timeout: str = "10s",
    stoker: str | None = None,
) -> Evaluation:
    """Judge a policy, an object with predict or a function as serve takes them, beside baselines, runs or zoo:NAME.

    config is a configuration's file, a dictionary, or an environment's id. Files go to the folder out, a temporary one by
    default. Where the policy fails in the middle, "out" says why, and a warning does.
    """
    run = program(stoker)
    folder = Path(out or tempfile.mkdtemp(prefix="stoker-eval-"))
    folder.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(16)
    with socket.create_server(("127.0.0.1", 0)) as server, tempfile.TemporaryDirectory() as written:
        relay = [sys.executable, "-m", "stoker_rl._relay", str(server.getsockname()[1])]
        command = [run, "eval", *several(baselines), "--config", configuration(config, Path(written)), "--policy",
                   f"{name}=cmd:{shlex.join(relay)}", "--policy-timeout", timeout, "--out", str(folder), "--force", "--json"]
        if seeds:
            command += ["--seeds", seeds]
        for s in several(sets):
            command += ["--set", s]
        threading.Thread(target=answer, args=(server, token, policy, raw), daemon=True).start()
        done = subprocess.run(command, env={**os.environ, "STOKER_RL_TOKEN": token}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StokerError(done.stderr.strip())
    result = Evaluation(json.loads(done.stdout))
    result.folder = folder
    for o in result.get("out", []):
        warnings.warn(f"{o['policy']} is out, from workload seed {o['workload_seed']}, step {o['step']} on: {o['reason']}", stacklevel=2)
    for line in done.stderr.splitlines():
        if line.startswith("warning: ") and " is out, from workload seed " not in line:
            warnings.warn(line.removeprefix("warning: "), stacklevel=2)
    return result


def answer(server: socket.socket, token: str, policy: Any, raw: bool) -> None:
    """Answer the relay, and nobody else who connects."""
    while True:
        try:
            link, _ = server.accept()
        except OSError:  # it is closed: the evaluation is over
            return
        with link, link.makefile("rb") as read, link.makefile("wb") as write:
            if secrets.compare_digest(read.readline().strip(), token.encode()):
                try:
                    converse(starter(policy, raw), read, write, "lists" if raw else "base64")
                except (SystemExit, OSError):
                    pass  # it was told
                return
