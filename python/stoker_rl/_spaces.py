"""What a spec says of a kind of agents, and how observations and actions lie in arrays."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np


def array(value: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """An array of an observation, which is packed, or lists."""
    if isinstance(value, dict):
        value = np.frombuffer(base64.b64decode(value["base64"]), value["dtype"]).reshape(value["shape"])
    return np.asarray(value, dtype=dtype)


def view(after: bytes, told: dict[str, Any]) -> np.ndarray[Any, Any]:
    """An array in the bytes after a line, of a type, a shape and a place."""
    n = 1
    for d in told["shape"]:
        n *= d
    return np.frombuffer(after, told["dtype"], n, told["at"] if n else 0).reshape(told["shape"])


def width(space: dict[str, Any]) -> int:
    """The number of values of a space."""
    kind = space["type"]
    if kind == "box":
        return int(space.get("width", 0))
    if kind == "discrete":
        return 1
    if kind == "multi-discrete":
        return len(space["n"])
    return sum(width(s) for s in space.get("spaces", []))  # a graph has none


class Kind:
    """Agents of one kind: how many there are, what each sees and does."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.name: str = spec["name"]
        self.agents: int = spec["agents"]
        self.features: int = width(spec["observation"])
        self.components: int = width(spec["action"])
        self.graph: dict[str, Any] | None = spec["observation"] if spec["observation"]["type"] == "graph" else None
        self.action: dict[str, Any] = spec["action"]
        self.box = self.action["type"] == "box"
        self.names: list[str] = spec.get("features", [])

    def layout(self, shape: Any, wide: int, what: str) -> tuple[int, ...]:
        """The form in which a policy takes or gives wide numbers for each agent, from its shape without the batch.

        (agents, wide) is as it is, (wide,) has the agents as rows of the batch, and (agents·wide,) has all agents in a
        row. Sizes that are no numbers fit all.
        """
        forms = [(self.agents, wide), (wide,), (self.agents * wide,)]
        if self.agents == 1:
            forms = [(wide,), (1, wide)]
        if wide == 1:
            forms += [(self.agents,), ()]
        for form in forms:
            if len(form) == len(shape) and all(a == b or not isinstance(a, int) for a, b in zip(shape, form)):
                return form
        raise ValueError(
            f"{what} has the shape {['batch', *shape]}, in the environment it is [batch, {self.agents}, {wide}]; "
            "these fit: " + ", ".join(str(["batch", *f]) for f in forms)
        )

    def rescale(self, space: Any) -> tuple[Any, Any] | None:
        """Gain and offset from a policy's box of actions to the environment's, as RescaleAction has them; None where the boxes are equal."""
        low, high = getattr(space, "low", None), getattr(space, "high", None)
        if not self.box or low is None or high is None:
            return None
        low, high = np.ravel(low).astype(np.float32), np.ravel(high).astype(np.float32)
        to = []
        for key, none in (("low", -np.inf), ("high", np.inf)):
            bound = [none if x is None else x for x in np.ravel(np.asarray(self.action.get(key), object))]
            to.append(np.resize(np.asarray(bound, np.float32), low.size))
        if np.array_equal(low, to[0]) and np.array_equal(high, to[1]):
            return None
        if not (np.isfinite([low, high, *to]).all() and (high > low).all()):
            raise ValueError(f"the policy's action_space is {space}, {self.name}'s is from {to[0].tolist()} to {to[1].tolist()}: "
                             "want a function whose actions lie there, in place of the policy")
        gain = (to[1] - to[0]) / (high - low)
        return gain, to[0] - gain * low

    def actions(self, values: Any, episodes: int) -> np.ndarray[Any, Any]:
        """What a policy gives, as [episodes, agents, components] in float32."""
        out = np.asarray(values, dtype=np.float32)
        want = (episodes, self.agents, self.components)
        if out.size != int(np.prod(want)):
            raise ValueError(f"the action of {self.name} has the shape {list(out.shape)}, want {list(want)}")
        return out.reshape(want)

    def stacked(self, episodes: list[dict[str, Any]], key: str, dtype: Any) -> np.ndarray[Any, Any]:
        """An entry of the observations of all episodes."""
        return np.stack([array(e["observation"][self.name][key], dtype) for e in episodes])
