"""Baselines and policies of Stoker in Python, what an environment shows in whole episodes, and graphs for PyTorch Geometric."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .env import Config, StokerEnv
from .vector import StokerVectorEnv


class Baseline:
    """A baseline, or a policy of a run, a checkpoint or zoo:NAME, with the predict of Stable-Baselines3.

    The step server decides for what the environment shows at this moment, and resets the baseline when an episode begins:
    predict reads no observation. Actions are of Stoker's own spaces: wrappers that change actions are not taken into account.
    """

    def __init__(self, name: str, env: Any) -> None:
        base = env.unwrapped
        base = getattr(base, "vector", base)  # SharedVecEnv
        self.name, self._rows = name, hasattr(base, "envs")
        self._envs: list[Any] = [e.unwrapped for e in base.envs] if self._rows else [base]
        for e in self._envs:
            if not isinstance(e, (StokerEnv, StokerVectorEnv)):
                raise TypeError(f"env is a {type(e).__name__}, want an environment of Stoker, or copies of it in this process")
        if base is not env.unwrapped:
            self._shape: Any = (env.num_envs, *env.action_space.shape)
        else:
            self._shape = None

    def predict(self, observation: Any = None, state: Any = None, episode_start: Any = None,
                deterministic: bool = True) -> tuple[Any, Any]:
        """The actions of all copies, and state as it came. Copies without an episode have zeros, or their last action."""
        actions = [self._decide(e, deterministic) for e in self._envs]
        if self._rows:
            return np.stack(actions), state
        return actions[0] if self._shape is None else actions[0].reshape(self._shape), state

    def _decide(self, e: Any, deterministic: bool) -> Any:
        o = e._o
        o.process.ready()
        o.process.decide(self.name, deterministic)

        def of(k: Any) -> Any:
            rows = o.process.actions[k.number][e._at]
            if not k.discrete:
                return rows.copy()
            whole = rows.astype(np.int64)
            return whole[..., 0] if k.kind_of_action == "discrete" and o.single else whole

        return o.whole(of)


def baseline(name: str, env: Any) -> Baseline:
    """The baseline of a name (`stoker envs ID` lists them) in an environment, or a policy of the zoo: zoo:NAME."""
    return Baseline(name, env)


def observations(what: Config, seeds: str | Iterable[int], policy: str = "random", **more: Any) -> Any:
    """What is seen in the episodes of seeds, such as "1-20", when a baseline acts: an array whose first dimension is the step,
    or a dictionary of such arrays. what is an environment's id, a configuration's file or a dictionary.
    """
    by_id = isinstance(what, str) and what.count("/") == 1 and "-v" in what
    e = StokerEnv(str(what) if by_id else "", None if by_id else what, **more)
    seen: list[Any] = []
    try:
        acting = Baseline(policy, e)
        for seed in _seeds(seeds):
            now, over = e.reset(seed=seed)[0], False
            while not over:
                seen.append(now)
                now, _, ended, cut, _ = e.step(acting.predict()[0])
                over = ended or cut
    finally:
        e.close()
    if not seen:
        raise ValueError(f"seeds is {seeds!r}, want at least one")
    return _stacked(seen)


def _stacked(seen: list[Any]) -> Any:
    if isinstance(seen[0], dict):
        return {k: _stacked([s[k] for s in seen]) for k in seen[0]}
    return np.stack(seen)


def _seeds(seeds: str | Iterable[int]) -> Iterable[int]:
    if not isinstance(seeds, str):
        return seeds
    try:
        bounds = [[int(x) for x in part.split("-")] for part in seeds.split(",")]
        return [seed for b in bounds for seed in range(b[0], b[-1] + 1)]
    except ValueError:
        raise ValueError(f"seeds is {seeds!r}, want numbers and ranges such as 1-20,31") from None


def to_hetero(obs: dict[str, Any], spec: dict[str, Any]) -> Any:
    """An observation of a graph, of one agent, as a HeteroData of PyTorch Geometric. spec is the environment's stoker_spec."""
    try:
        import torch
        from torch_geometric.data import HeteroData  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as e:
        raise ImportError("to_hetero needs PyTorch Geometric: pip install torch torch_geometric") from e
    data = HeteroData()
    for key, parts in hetero_arrays(obs, spec).items():
        for name, value in parts.items():
            data[key][name] = torch.from_numpy(value)
    return data


def hetero_arrays(obs: dict[str, Any], spec: dict[str, Any]) -> dict[Any, dict[str, np.ndarray[Any, Any]]]:
    """The arrays of to_hetero: x of each kind of nodes; edge_index and edge_attr of each (from, kind, to)."""
    graph = next((k["observation"] for k in spec["kinds"] if k["observation"]["type"] == "graph"), None)
    if graph is None or not isinstance(obs, dict):
        raise ValueError(f"{spec['id']} shows no graph, or obs is not its Dict")
    nodes = [x["name"] for x in graph["nodes"]]
    out: dict[Any, dict[str, np.ndarray[Any, Any]]] = {}
    for name in nodes:
        out[name] = {"x": np.array(obs["nodes/" + name][: obs[f"nodes/{name}/count"].item()])}
    for x in graph["edges"]:
        name, key = x["name"], (nodes[x["from"]], x["name"], nodes[x["to"]])
        n = obs[f"edges/{name}/count"].item()
        told = obs.get("edges/" + name)
        out[key] = {"edge_index": obs[f"edges/{name}/ends"][:, :n].astype(np.int64),
                    "edge_attr": np.zeros((n, 0), np.float32) if told is None else np.array(told[:n])}
    return out
