"""Environments with several agents: for PettingZoo, and with agents as copies for Stable-Baselines3."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from copy import copy, deepcopy
from typing import Any

import numpy as np
from gymnasium import spaces

from ._process import ADVANCE
from .env import Array, Config, Kind, StokerEnv, put
from .vector import StokerVectorEnv

try:
    from pettingzoo import ParallelEnv as _ParallelEnv  # type: ignore[import-untyped,unused-ignore]
except ImportError:
    _ParallelEnv = object  # type: ignore[assignment,misc,unused-ignore]


class StokerParallelEnv(_ParallelEnv):  # type: ignore[misc,unused-ignore]
    """All agents of an environment act at once. Agents that are not there leave agents until they are there again."""

    metadata: dict[str, Any] = {"render_modes": [], "name": "stoker", "is_parallelizable": True}

    def __init__(self, id: str, config: Config = None, overrides: Iterable[str] = (), split: str = "train",
                 illegal: str = "substitute", stoker: str | None = None, render_mode: str | None = None) -> None:
        if _ParallelEnv is object:
            raise ImportError("parallel_env needs PettingZoo: pip install 'stoker-rl[pettingzoo]'")
        self.metadata = {**self.metadata, "name": id}
        self.render_mode = None
        self.env = StokerEnv(id, config, overrides, split, illegal, stoker)
        self._of: dict[str, tuple[Kind, int]] = {}
        for k in self.env._o.kinds:
            for i, name in enumerate(k.names):
                self._of[name if name not in self._of else f"{k.name}_{name}"] = (k, i)
        self.possible_agents = list(self._of)
        self.agents: list[str] = []
        self.observation_spaces = {a: k.observation_space() for a, (k, _) in self._of.items()}
        self.action_spaces = {a: k.action_space() for a, (k, _) in self._of.items()}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """What an agent sees."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """What an agent does."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin the episode of a seed. There are no options: PettingZoo's own tests have one."""
        if options:
            warnings.warn(f"reset has no options {sorted(options)}: set keys of the configuration with overrides", stacklevel=2)
        _, info = self.env.reset(seed=seed)
        self._kinds()
        self.agents = self._present()
        return self._seen(self.agents), self._infos(self.agents, info)

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """One step of all agents that are there."""
        if not self.agents:
            return {}, {}, {}, {}, {}
        p = self.env._o.process
        p.ready()
        lacking, unknown = set(self.agents) - set(actions), set(actions) - set(self._of)
        if lacking or unknown:
            raise ValueError(f"actions of {sorted(lacking)} are missing" if lacking else f"there are no agents {sorted(unknown)}")
        for name in self.agents:
            k, i = self._of[name]
            put(p.actions[k.number], (0, i), actions[name], name)
        p.commands[0] = ADVANCE
        p.step()
        self.env._o.substituted()
        told = [*self.agents]
        there = self._present()
        told += [a for a in there if a not in told]
        ended, cut = bool(p.arrays["terminated"][0]), bool(p.arrays["truncated"][0])
        rewards = {a: float(self._of[a][0].reward[0, self._of[a][1]]) for a in told}
        self.agents = [] if ended or cut else there
        return (self._seen(told), rewards, {a: ended or a not in there for a in told}, dict.fromkeys(told, cut),
                self._infos(told, self.env._info()))

    def _kinds(self) -> None:  # another process has other arrays
        kinds = {k.name: k for k in self.env._o.kinds}
        self._of = {a: (kinds[k.name], i) for a, (k, i) in self._of.items()}

    def _present(self) -> list[str]:
        return [a for a, (k, i) in self._of.items() if k.active[0, i]]

    def _seen(self, agents: list[str]) -> dict[str, Any]:
        return {a: self._of[a][0].see((0, self._of[a][1], ...)) for a in agents}

    def _infos(self, agents: list[str], info: dict[str, Any]) -> dict[str, Any]:
        shared = {q: info[q] for q in (*self.env._o.quantities, "elapsed")}
        out: dict[str, Any] = {}
        for a in agents:
            k, i = self._of[a]
            out[a] = dict(shared)
            if k.discrete:
                out[a] |= {"action_mask": k.legal((0, i)), "substituted": info["substituted"]}
        return out

    def state(self) -> Array:
        """What all agents see, in a row; of vectors alone."""
        vectors = [k.see((0, ...)).ravel() for k in self.env._o.kinds if not k.graph]
        if not vectors:
            raise ValueError(f"{self.metadata['name']} shows graphs, which have no state in a row: want what step returns")
        return np.concatenate(vectors)

    def __deepcopy__(self, memo: dict[int, Any]) -> StokerParallelEnv:
        """Agents in a deep copy of env."""
        other = copy(self)
        other.env, other.agents = deepcopy(self.env, memo), list(self.agents)
        other.observation_spaces, other.action_spaces = deepcopy((self.observation_spaces, self.action_spaces), memo)
        other._kinds()
        return other

    def close(self) -> None:
        """End the process."""
        self.env.close()


def parallel_env(id: str, **more: Any) -> StokerParallelEnv:
    """An environment for PettingZoo, whose agents have the names of the spec, such as a workflow's functions."""
    return StokerParallelEnv(id, **more)


def SharedVecEnv(id: str, num_envs: int = 1, **more: Any) -> Any:
    """A VecEnv of Stable-Baselines3 in which each agent of each copy is an environment: one policy learns for all of them.

    Agents of one kind that sees vectors and is always there; copies begin anew when their episodes end.
    """
    from stable_baselines3.common.vec_env import VecEnv

    class Shared(VecEnv):  # type: ignore[misc,unused-ignore]
        def __init__(self) -> None:
            self.vector = StokerVectorEnv(id, num_envs, autoreset_mode="SameStep", **more)
            self.kind = self.vector._o.kinds[0]
            if len(self.vector._o.kinds) != 1 or self.kind.graph:
                raise ValueError(f"{id} has several kinds of agents, or agents that see graphs: want one kind that sees vectors")
            self._acts: Any = None
            super().__init__(num_envs * self.kind.agents, self.kind.observation_space(), self.kind.action_space())

        def _rows(self, x: Array) -> Array:
            return x.reshape(self.num_envs, -1) if x.ndim > 2 or self.kind.agents == 1 else np.repeat(x, self.kind.agents)

        def reset(self) -> Array:
            seed = next((s for s in self._seeds if s is not None), None)
            seen, _ = self.vector.reset(seed=seed)
            self._reset_seeds()
            return self._rows(seen)

        def step_async(self, actions: Array) -> None:
            self._acts = actions

        def step_wait(self) -> tuple[Array, Array, Array, list[dict[str, Any]]]:
            n, m = num_envs, self.kind.agents
            shape = (n, -1) if self.vector._single else (n, m, -1)
            seen, _, ended, cut, told = self.vector.step(np.asarray(self._acts).reshape(shape))
            rewards = self.vector.last_rewards.reshape(-1).copy()  # the next step overwrites the view
            infos: list[dict[str, Any]] = [{} for _ in range(n * m)]
            for i in np.flatnonzero(ended | cut):
                rows = told["final_obs"][i].reshape(m, -1)
                for j in range(m):
                    infos[i * m + j] = {"terminal_observation": rows[j], "TimeLimit.truncated": bool(cut[i] and not ended[i])}
            return self._rows(seen), rewards, np.repeat(ended | cut, m), infos

        def close(self) -> None:
            self.vector.close()

        def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
            return [getattr(self.vector, attr_name)] * len(list(self._get_indices(indices)))

        def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
            raise NotImplementedError("the copies share one process, which has no attributes to set")

        def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
            rows: Sequence[int] = list(self._get_indices(indices))
            if method_name == "action_masks" and self.kind.discrete:
                masks = self.vector.action_masks().reshape(self.num_envs, -1)  # of the process that steps now
                return [masks[i] for i in rows]
            raise AttributeError(f"there is no method {method_name}")

        def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
            return [False] * len(list(self._get_indices(indices)))

    return Shared()
