"""The side of a policy in the protocol of `stoker eval --policy NAME=cmd:…`: lines of JSON, see docs/judging.md."""

from __future__ import annotations

import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from ._spaces import Kind, view

PROTOCOL = "policy/1"

Episodes = list[dict[str, Any]]
Act = Callable[[Episodes], "list[dict[str, np.ndarray[Any, Any]]]"]


class OutOfPlay(ValueError):
    """An error of one episode among those that were asked for."""

    def __init__(self, episode: int, text: str) -> None:
        super().__init__(text)
        self.episode = episode


def converse(start: Callable[[dict[str, Any]], Act], read: BinaryIO, write: BinaryIO, arrays: str = "base64") -> None:
    """Answer until the other side has ended. start makes from a spec what acts, on lists or on arrays, which come in base64, or
    as bytes after the line where the other side can. Where what acts has joined, that takes a whole request, in which the graphs
    of all episodes are one observation."""

    def send(line: dict[str, Any]) -> None:
        write.write(json.dumps(line, allow_nan=False).encode() + b"\n")
        write.flush()

    try:
        hello = json.loads(read.readline() or b"{}")
        if hello.get("stoker") != PROTOCOL:
            raise ValueError(f"this stoker-rl speaks {PROTOCOL!r}, the program that asks says {hello.get('stoker')!r}")
        act = start(hello["spec"])
    except Exception as e:
        send({"stoker": PROTOCOL, "error": f"{type(e).__name__}: {e}"})
        raise SystemExit(1) from e
    joined = getattr(act, "joined", None)
    if arrays == "base64" and hello.get("arrays") in ("bytes", "joined"):
        arrays = "joined" if joined and hello["arrays"] == "joined" else "bytes"
    send({"stoker": PROTOCOL, "arrays": arrays})
    for line in read:
        request = json.loads(line)
        if "bytes" in request:
            after = read.read(request["bytes"])
            if len(after) < request["bytes"]:
                return
            for told in [request] if "observation" in request else request["episodes"]:
                for seen in told["observation"].values():
                    for name, a in seen.items():
                        seen[name] = view(after, a)
        try:
            actions = joined(request) if joined and "observation" in request else act(request["episodes"])
            for i, action in enumerate(actions):
                for name, values in action.items():
                    if not np.isfinite(values).all():
                        raise OutOfPlay(i, f"the action of {name} has a number that is not finite: {values.tolist()}")
            answer: dict[str, Any] = {"actions": [{k: v.tolist() for k, v in a.items()} for a in actions]}
        except Exception as e:
            if not isinstance(e, OutOfPlay):
                traceback.print_exc()
            answer = {"error": f"{type(e).__name__}: {e}", "episode": getattr(e, "episode", 0)}
        send({"id": request["id"], **answer})


def stdio() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output for the protocol; what else is printed goes to standard error."""
    write = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return sys.stdin.buffer, write


class Asker:
    """Asks a policy with predict, as that of Stable-Baselines3, or a function, for one kind of agents."""

    def __init__(self, policy: Any, spec: dict[str, Any]) -> None:
        kinds = [Kind(k) for k in spec["kinds"]]
        if len(kinds) != 1 or kinds[0].graph:
            raise ValueError(
                f"{spec['id']} has {len(kinds)} kinds of agents that see vectors or graphs: arrays hold one kind that "
                "sees vectors. Use serve(function, raw=True)"
            )
        self.kind = kinds[0]
        self.call: Callable[..., Any] = getattr(policy, "predict", policy)
        self.takes = set(inspect.signature(self.call).parameters)
        self.mask = next((n for n in ("action_masks", "action_mask", "mask") if n in self.takes), None)
        k = self.kind
        shape = getattr(getattr(policy, "observation_space", None), "shape", None)
        if shape is None:
            shape = (k.features,) if k.agents == 1 else (k.agents, k.features)
        self.form = k.layout(tuple(shape), k.features, "the policy's observation")
        self.rescale = k.rescale(getattr(policy, "action_space", None))
        vec = getattr(policy, "get_vec_normalize_env", lambda: None)()
        self.seen: Callable[[Any], Any] = vec.normalize_obs if vec else lambda seen: seen  # predict leaves it to VecNormalize
        self.recurrent = False
        self.states: dict[int, Any] = {}

    def __call__(self, episodes: Episodes) -> list[dict[str, np.ndarray[Any, Any]]]:
        if not self.recurrent:
            out, state = self.ask(episodes)
            self.recurrent = state is not None
        if self.recurrent:  # each episode has its own state
            parts = []
            for e in episodes:
                last = self.states.get(e["slot"]) if e["step"] > 0 else None
                part, self.states[e["slot"]] = self.ask([e], last)
                parts.append(part)
            out = np.concatenate(parts)
        return [{self.kind.name: a} for a in out]

    def ask(self, episodes: Episodes, state: Any = None) -> tuple[np.ndarray[Any, Any], Any]:
        k = self.kind
        seen = k.stacked(episodes, "observation", np.float32).reshape(-1, *self.form)
        more: dict[str, Any] = {}
        if "deterministic" in self.takes:
            more["deterministic"] = True
        if "state" in self.takes:
            more["state"] = state
        if "episode_start" in self.takes:
            starts = np.array([e["step"] == 0 for e in episodes])
            more["episode_start"] = np.repeat(starts, len(seen) // len(episodes))
        if self.mask and "mask" in episodes[0]["observation"][k.name]:
            mask = k.stacked(episodes, "mask", bool)
            more[self.mask] = mask.reshape(len(seen), -1) if len(self.form) == 1 else mask
        if "active" in self.takes:
            more["active"] = k.stacked(episodes, "active", bool)
        result = self.call(self.seen(seen), **more)
        action, state = result if isinstance(result, tuple) else (result, None)
        if self.rescale:
            gain, offset = self.rescale
            action = np.reshape(action, (-1, gain.size)) * gain + offset
        return k.actions(action, len(episodes)), state


def starter(policy: Any, raw: bool) -> Callable[[dict[str, Any]], Act]:
    """What makes from a spec who asks the policy."""

    def start(spec: dict[str, Any]) -> Act:
        if not raw:
            return Asker(policy, spec)

        def act(episodes: Episodes) -> list[dict[str, np.ndarray[Any, Any]]]:
            return [{k: np.asarray(v) for k, v in policy(e).items()} for e in episodes]

        return act

    return start


def serve(policy: Any, *, raw: bool = False) -> None:
    """Answer `stoker eval --policy NAME=cmd:python SCRIPT` until it ends.

    policy is an object with predict(observation, …), as models of Stable-Baselines3, or a function of the same form. It
    gets observations in float32 [episodes, features], or what its observation_space says, and returns actions. Parameters
    called action_masks (or mask) and active get these. With raw, policy is a function that gets one episode as the protocol
    has it, {"slot", "step", "observation": {kind: {…}}}, and returns {kind: action}: for graphs and several kinds of agents.
    """
    read, write = stdio()
    converse(starter(policy, raw), read, write, "lists" if raw else "base64")
