"""Stoker's environments for Gymnasium: one copy, and what many copies have in common with it."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from ._evaluate import experiment
from ._process import ADVANCE, BEGIN, REPLACED, Process, StokerError, several

Array = np.ndarray[Any, Any]
Config = str | os.PathLike[str] | dict[str, Any] | None


def box(space: dict[str, Any], rows: tuple[int, ...] = ()) -> spaces.Box:
    """A box of rows of a spec's box."""
    def bound(key: str, default: float) -> Array:
        given = space.get(key, default)
        given = [default if x is None else x for x in given] if isinstance(given, list) else given
        return np.broadcast_to(np.asarray(given, np.float32), (*rows, space["width"]))

    return spaces.Box(bound("low", -np.inf), bound("high", np.inf), dtype=np.float32)


class Kind:
    """Agents of one kind: their spaces, and where an answer has what they see."""

    def __init__(self, spec: dict[str, Any], arrays: dict[str, Array], number: int) -> None:
        self.spec, self.number = spec, number
        self.name: str = spec["name"]
        self.agents: int = spec["agents"]
        self.names: list[str] = spec.get("names") or [f"{self.name}_{i}" for i in range(self.agents)]
        self.dependent: bool = spec.get("dependent", False)
        self.graph: dict[str, Any] | None = spec["observation"] if spec["observation"]["type"] == "graph" else None
        prefix = self.name + "/"
        self.seen = {k.removeprefix(prefix): a for k, a in arrays.items() if k.startswith(prefix)}
        self.reward, self.active, self.mask = (self.seen.pop(k) for k in ("reward", "active", "mask"))
        if self.graph:
            # Stable-Baselines3 takes no arrays without a dimension, and none without numbers: edges may have no features.
            self.seen = {n: a[..., None] if n.endswith("/count") else a for n, a in self.seen.items() if a.size}
        action = spec["action"]
        self.kind_of_action: str = action["type"]
        self.discrete = self.kind_of_action in ("discrete", "multi-discrete")
        self.choices: list[int] = list(action.get("n", []))
        self._cuts = np.cumsum(self.choices[:-1], dtype=int)

    def observation_space(self, rows: tuple[int, ...] = ()) -> spaces.Space[Any]:
        """What an agent sees, or rows of agents."""
        if not self.graph:
            return box(self.spec["observation"], rows)
        parts: dict[str, spaces.Space[Any]] = {}
        for name, a in self.seen.items():
            shape = (*rows, *a.shape[2:])
            if a.dtype == np.float32:
                parts[name] = spaces.Box(-np.inf, np.inf, shape, np.float32)
            else:
                parts[name] = spaces.Box(0, np.iinfo(np.int32).max, shape, np.int32)
        return spaces.Dict(parts)

    def action_space(self, rows: tuple[int, ...] = ()) -> spaces.Space[Any]:
        """What an agent does, or rows of agents."""
        if self.kind_of_action == "box":
            return box(self.spec["action"], rows)
        if self.kind_of_action == "discrete" and not rows:
            return spaces.Discrete(self.choices[0])
        if self.discrete:
            return spaces.MultiDiscrete(np.broadcast_to(np.asarray(self.choices), (*rows, len(self.choices))))
        raise StokerError(f"the action of {self.name} is a {self.kind_of_action}, which Gymnasium's spaces here do not take")

    def see(self, at: Any, copy: bool = True) -> Any:
        """What is seen at an index of the arrays."""
        if not self.graph:
            seen = self.seen["observation"][at]
            return seen.copy() if copy else seen
        return {name: a[at].copy() if copy else a[at] for name, a in self.seen.items()}

    def legal(self, at: Any) -> Any:
        """The mask at an index, as the space's sample takes it: 0 and 1, of several components, and of agents, in tuples."""
        of = self.mask[at].astype(np.int8)
        if of.ndim > 1:
            return tuple(tuple(np.split(row, self._cuts)) for row in of)
        return of if self.kind_of_action == "discrete" else tuple(np.split(of, self._cuts))


def put(to: Array, at: Any, action: Any, whose: str) -> None:
    """Write an action where it has its place. A single choice needs no dimension of its own."""
    given, row = np.asarray(action, np.float32), to[at]
    if given.shape != row.shape:
        if (*given.shape, 1) != row.shape:
            raise ValueError(f"the action of {whose} has the shape {given.shape}, want {row.shape}")
        row = row[..., 0]
    row[...] = given


def no_options(options: dict[str, Any] | None) -> None:
    """Refuse what reset would have to leave out."""
    if options:
        raise ValueError(f"reset has no options {sorted(options)}: set keys of the configuration with overrides")


def workload_seed(seed: int) -> int:
    """A seed as the step server takes it."""
    if not 0 <= seed < 2**64:
        raise ValueError(f"the seed is {seed}, want 0 to {2**64 - 1}")
    return seed


class Opened:
    """A process and what its answers mean."""

    def __init__(self, id: str, config: Config, overrides: Iterable[str], split: str, copies: int, illegal: str,
                 stoker: str | None, workers: int = 0) -> None:
        name, text = experiment(id if config is None else config, id)
        self._request = {"config": name, "text": text, "overrides": several(overrides), "split": split, "copies": copies,
                         "workers": workers, "illegal": illegal}
        self._stoker = stoker
        self._warned = False
        self._open()
        for note in self.process.notes:
            warnings.warn(note, stacklevel=4)
        self.kinds = [Kind(k, self.process.arrays, i) for i, k in enumerate(self.process.spec["kinds"])]
        if id and self.process.spec["id"] != id:
            self.process.close()
            raise StokerError(f"the configuration is of {self.process.spec['id']}, and not of {id}")
        self.quantities: list[str] = [q["name"] for q in self.process.spec.get("info", [])]
        self.spec: dict[str, Any] = self.process.spec
        self.single = len(self.kinds) == 1 and self.kinds[0].agents == 1
        self.observation_space = self._space(lambda k, rows: k.observation_space(rows))
        self.action_space = self._space(lambda k, rows: k.action_space(rows))

    def _open(self) -> None:
        self.process = Process(self._request, self._stoker)

    def again(self) -> None:
        """Start another process where the last one has died."""
        if not self.process.alive:
            self._open()
            self.kinds = [Kind(k, self.process.arrays, i) for i, k in enumerate(self.process.spec["kinds"])]

    def whole(self, of: Any) -> Any:
        """One kind's part, or those of all kinds by name."""
        if len(self.kinds) == 1:
            return of(self.kinds[0])
        return {k.name: of(k) for k in self.kinds}

    def _space(self, of: Any) -> spaces.Space[Any]:
        """One kind's space, or a Dict; several agents are rows."""
        parts = {k.name: of(k, () if self.single else (k.agents,)) for k in self.kinds}
        return parts[self.kinds[0].name] if len(parts) == 1 else spaces.Dict(parts)

    def write(self, action: Any, copies: Any) -> None:
        """Put actions where the next step reads them."""
        self.process.ready()
        for k in self.kinds:
            to = self.process.actions[k.number]
            put(to, copies, action if len(self.kinds) == 1 else action[k.name], k.name)

    def chosen(self) -> list[Kind]:
        """The kinds of agents that make choices, which have masks."""
        kinds = [k for k in self.kinds if k.discrete]
        if not kinds:
            raise ValueError(f"the actions of {self.spec['id']} are numbers: there are no choices, and no masks")
        return kinds

    def substituted(self) -> None:
        """Say once that forbidden choices were replaced."""
        if not self._warned and self.process.words[REPLACED]:
            self._warned = True
            warnings.warn("a choice that the mask forbids was replaced by the first legal one; info['substituted'] counts them, "
                          "info['action_mask'] says what is legal, and illegal='raise' makes it an error", stacklevel=4)


class StokerEnv(gym.Env[Any, Any]):
    """One copy of an environment. Several agents of one kind are rows of its arrays; the reward is their mean.

    config is a configuration's file, a dictionary of its keys, or None for the environment's defaults; overrides are settings
    such as "env.windows=20". split is the part of the workload: train, test or all. illegal is substitute or raise.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, id: str, config: Config = None, overrides: Iterable[str] = (), split: str = "train",
                 illegal: str = "substitute", stoker: str | None = None, render_mode: str | None = None) -> None:
        self.render_mode = None
        self._with = (id, config, several(overrides), split, 1, illegal, stoker)
        self._o = o = Opened(*self._with)
        self._single = o.single
        self._at: Any = (0, 0, ...) if self._single else (0, ...)
        self.observation_space, self.action_space, self.stoker_spec = o.observation_space, o.action_space, o.spec
        self._small: _Small | None = None
        self._begun = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin the episode of a seed, which draws its whole workload; without one, of one drawn."""
        super().reset(seed=seed)
        no_options(options)
        o = self._o
        o.again()
        o.process.ready()
        o.process.commands[0] = BEGIN
        o.process.seeds[0] = self.np_random.integers(2**63) if seed is None else workload_seed(seed)
        o.process.step()
        self._begun = True
        if self._single and not o.kinds[0].graph:
            self._small = _Small(o)
        return self._seen(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One step of the environment."""
        if self._small:
            return self._small.step(action)
        o = self._o
        p = o.process
        o.write(action, self._at)
        p.commands[0] = ADVANCE
        p.step()
        o.substituted()
        a = p.arrays
        return self._seen(), float(a["reward"][0]), bool(a["terminated"][0]), bool(a["truncated"][0]), self._info()

    def _seen(self) -> Any:
        return self._o.whole(lambda k: k.see(self._at))

    def _info(self) -> dict[str, Any]:
        o = self._o
        a = o.process.arrays
        info: dict[str, Any] = dict(zip(o.quantities, a["info"][0].tolist()))
        info["elapsed"] = int(a["elapsed"][0])
        for k in o.kinds:
            suffix = "" if len(o.kinds) == 1 else "/" + k.name
            if k.discrete:
                info["action_mask" + suffix] = k.legal(self._at)
                info["substituted"] = int(a["substituted"][0])
            if not self._single:
                info["active" + suffix] = k.active[0].copy()
        return info

    def action_masks(self) -> Array:
        """The mask as MaskablePPO asks for it: all choices of all components in a row."""
        return np.concatenate([k.mask[0].ravel() for k in self._o.chosen()])

    def mask_after(self, partial: Iterable[float], agent: int = 0, kind: int = 0) -> Array:
        """The legal choices of the component after those of partial, where they depend on these."""
        kinds = self._o.kinds
        if not 0 <= kind < len(kinds):
            raise ValueError(f"kind is {kind}, want a number from 0 to {len(kinds) - 1}")
        if not 0 <= agent < kinds[kind].agents:
            raise ValueError(f"agent is {agent}, want a number from 0 to {kinds[kind].agents - 1}")
        self._o.chosen()
        return self._o.process.mask(0, kind, agent, list(partial))

    def get_state(self) -> bytes:
        """The episode's state, as bytes that set_state of an equal environment takes."""
        return self._o.process.save(0)

    def set_state(self, state: bytes) -> tuple[Any, dict[str, Any]]:
        """Continue from a state; returns what is seen there."""
        self._o.process.load(0, state)
        self._begun = True
        return self._seen(), self._info()

    def copy(self) -> StokerEnv:
        """Another environment in the same state, in a process of its own, for planners."""
        id, config, overrides, split, _, illegal, stoker = self._with
        other = StokerEnv(id, config, overrides, split, illegal, stoker)
        other.set_state(self.get_state())
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> StokerEnv:
        """As copy, with the generators of random numbers; where no episode is under way, reset begins one."""
        p = self._o.process
        id, config, overrides, split, _, illegal, stoker = self._with
        runs = self._begun and p.alive and not (p.arrays["terminated"][0] or p.arrays["truncated"][0])
        other = self.copy() if runs else StokerEnv(id, config, overrides, split, illegal, stoker)
        other.spec, other._np_random, other._np_random_seed = self.spec, deepcopy(self._np_random, memo), self._np_random_seed
        other.observation_space, other.action_space = deepcopy(self.observation_space, memo), deepcopy(self.action_space, memo)
        return other

    def close(self) -> None:
        """End the process."""
        self._o.process.close()


class _Small:
    """One agent that sees a vector, as most environments of Gymnasium: a step without what others need."""

    def __init__(self, o: Opened) -> None:
        self.o, p, k = o, o.process, o.kinds[0]
        a = p.arrays
        self.ready, self.go, self.commands = p.ready, p.step, p.commands
        self.action = p.actions[0].reshape(-1)
        self.shape = () if k.kind_of_action == "discrete" else (self.action.size,)
        self.seen, self.reward = k.seen["observation"][0, 0], a["reward"]
        self.ended, self.cut, self.elapsed = a["terminated"], a["truncated"], a["elapsed"]
        self.substituted, self.quantities = a["substituted"], a["info"][0]
        self.names = o.quantities
        self.legal = k.legal if k.discrete else None

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.ready()
        if self.shape:
            if np.shape(action) != self.shape:
                raise ValueError(f"the action has the shape {np.shape(action)}, want {self.shape}")
            self.action[:] = action
        else:
            self.action[0] = action
        self.commands[0] = ADVANCE
        self.go()
        info: dict[str, Any] = dict(zip(self.names, self.quantities.tolist())) if self.names else {}
        info["elapsed"] = self.elapsed.item()
        if self.legal:
            info["action_mask"] = self.legal((0, 0))
            info["substituted"] = n = self.substituted.item()
            if n:
                self.o.substituted()
        return self.seen.copy(), self.reward.item(), self.ended.item(), self.cut.item(), info


def register(stoker: str | None = None) -> list[str]:
    """Make all environments of the program known to gymnasium.make and make_vec; returns their ids."""
    import subprocess

    from ._process import program

    try:
        listed = subprocess.run([program(stoker), "envs", "--json"], capture_output=True, text=True, check=False)
    except OSError as e:
        raise StokerError(f"stoker cannot be started: {e}") from e
    if listed.returncode:
        raise StokerError(listed.stderr.strip())
    ids = [e["id"] for e in json.loads(listed.stdout)]
    for id in ids:
        if id not in gym.registry:
            gym.register(id, entry_point="stoker_rl.env:StokerEnv", vector_entry_point="stoker_rl.vector:StokerVectorEnv",
                         kwargs={"id": id})
    return ids
