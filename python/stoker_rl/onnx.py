"""python -m stoker_rl.onnx FILE [--bind NAME=WHAT,…]: an ONNX file answers `stoker eval`, in onnxruntime."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped,unused-ignore]

from ._serve import Act, Episodes, converse, stdio
from ._spaces import Kind, array

Source = Callable[[Episodes], np.ndarray[Any, Any]]

TYPES = {
    "tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(bool)": np.bool_,
    "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8,
}


class Model:
    """An ONNX file that acts in an environment."""

    def __init__(self, file: str, bind: dict[str, str], spec: dict[str, Any]) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        self.kinds = [Kind(k) for k in spec["kinds"]]
        names = {"obs": "observation", **bind}
        self.outputs = {names.get(o.name, o.name): o for o in self.session.get_outputs()}
        self.inputs = {names.get(i.name, i.name): i for i in self.session.get_inputs()}
        # No name is there twice in a file: torch.onnx.export calls the input state.X.1 where the output is state.X.
        for name in [n for n in self.inputs if n.startswith("state.") and n.endswith(".1") and n not in self.outputs]:
            if name.removesuffix(".1") in self.outputs:
                self.inputs[name.removesuffix(".1")] = self.inputs.pop(name)
        for given in bind:
            if all(given != n.name for n in [*self.inputs.values(), *self.outputs.values()]):
                raise ValueError(f"--bind: the file has no input or output {given!r}; it has {self.has()}")
        # Exports of Stoker have in scores the numbers as the environment takes them, and in action the platform's units.
        self.own = "stoker.spec" in self.session.get_modelmeta().custom_metadata_map
        self.before: dict[int, np.ndarray[Any, Any]] = {}
        self.states: dict[int, dict[str, Any]] = {}
        self.threads = os.cpu_count() or 1
        self.pool = ThreadPoolExecutor(self.threads)  # onnxruntime runs outside Python's lock
        self.stateful = [n for n in self.inputs if n.startswith("state.")]
        self.actions = [self.action(k, self.prefix(k)) for k in self.kinds]
        self.sources = {name: self.source(name) for name in self.inputs}
        # Stoker's exports take many graphs at once, where they are told how many nodes of each kind each has.
        if self.own and any(i.name == "count" for i in self.session.get_overridable_initializers()):
            self.joined = self.run_joined
        batches = [i.shape[0] if i.shape else 1 for n, i in self.inputs.items() if n not in self.stateful]
        self.together = (
            not self.stateful
            and not any(k.graph for k in self.kinds)
            and not any(isinstance(b, int) for b in batches)
        )

    def has(self) -> str:
        return "; ".join(f"{what} " + ", ".join(f"{n.name} {n.shape}" for n in nodes.values())
                         for what, nodes in (("inputs", self.inputs), ("outputs", self.outputs)))

    def prefix(self, kind: Kind) -> str:
        return "" if len(self.kinds) == 1 else kind.name + "."

    def action(self, kind: Kind, prefix: str) -> str:
        """The output that is a kind's action."""
        name = prefix + ("scores" if self.own and kind.box else "action")
        if name not in self.outputs:
            raise ValueError(f"no output is called {name!r}; the file has {self.has()}. Say which one it is: --bind NAME={name}")
        shape = self.outputs[name].shape
        if shape and not kind.graph:  # without a shape it is found out when it acts
            kind.layout(tuple(shape[1:]), kind.components, f"the output {self.outputs[name].name!r}")
        return name

    def source(self, name: str) -> Source:
        """What an input is made of, each step; an input that nobody here can give is refused."""
        node = self.inputs[name]
        if node.type not in TYPES:
            raise ValueError(f"the input {node.name!r} is a {node.type}, want one of " + ", ".join(TYPES))
        dtype = TYPES[node.type]
        if name in self.stateful and name in self.outputs:
            return lambda episodes: np.zeros([d if isinstance(d, int) else 1 for d in node.shape], dtype)
        k = next((k for k in self.kinds if name.startswith(self.prefix(k))), self.kinds[0])
        own = name.removeprefix(self.prefix(k)) if name.startswith(self.prefix(k)) else ""
        form = node.shape[1:]
        if own == "before" and "p95" in k.names:  # of the window before: nothing in the first one
            nothing = np.zeros(k.agents, np.float32)
            return lambda episodes: np.stack([self.before[e["slot"]] if e["step"] else nothing for e in episodes])
        if k.graph and own.startswith(("nodes/", "edges/")):
            want = part_shape(k.graph, own)
            if list(form) != want:
                raise ValueError(f"the input {name!r} has the shape {node.shape}, in the environment it is {['batch', *want]}")
            return lambda episodes: part(episodes[0]["observation"][k.name], own, form, dtype)
        if k.graph and own == "mask" and k.components == 1:
            return lambda episodes: array(next(a for n, a in episodes[0]["observation"][k.name].items() if n.startswith("legal.")),
                                          dtype)[None]
        if k.graph and (own == "active" or own.startswith(("legal.", "node.", "edge."))):
            return lambda episodes: array(shown(episodes[0], k, own, name), dtype)
        if not k.graph and (own in ("observation", "active", "mask") or own.startswith("legal.")):
            if own == "observation":
                form = k.layout(tuple(form), k.features, f"the input {node.name!r}")
            fixed = all(isinstance(d, int) for d in form)

            def rows(episodes: Episodes) -> np.ndarray[Any, Any]:
                seen = np.stack([array(shown(e, k, own, name), dtype) for e in episodes])
                return seen.reshape(-1, *form) if fixed else seen

            return rows
        raise ValueError(
            f"the input {name!r} is not known: want observation (or obs), active, mask, or state.NAME with an output that is bound to "
            f"this name; the file has {self.has()}. Say what it is: --bind {name}=observation, or --bind OUTPUT={name}"
        )

    def __call__(self, episodes: Episodes) -> list[dict[str, np.ndarray[Any, Any]]]:
        if self.together or len(episodes) == 1:
            return self.run(episodes)
        parts = self.pool.map(self.one_by_one, (episodes[i :: self.threads] for i in range(self.threads)))
        out: list[Any] = [None] * len(episodes)
        for i, part in enumerate(parts):
            out[i :: self.threads] = part
        return out

    def one_by_one(self, episodes: Episodes) -> list[dict[str, np.ndarray[Any, Any]]]:
        return [self.run([e])[0] for e in episodes]

    def run(self, episodes: Episodes) -> list[dict[str, np.ndarray[Any, Any]]]:
        first = episodes[0]
        if first["step"] == 0:
            self.states.pop(first["slot"], None)
        kept = self.states.get(first["slot"], {})
        feed = {self.inputs[name].name: kept[name] if name in kept else source(episodes) for name, source in self.sources.items()}
        wanted = [*self.actions, *self.stateful]
        got = self.session.run([self.outputs[n].name for n in wanted], feed)
        if self.stateful:
            self.states[first["slot"]] = dict(zip(self.stateful, got[len(self.actions):]))
        if "before" in self.inputs:
            seen = self.kinds[0].stacked(episodes, "observation", np.float32)[:, :, self.kinds[0].names.index("p95")]
            self.before.update(zip((e["slot"] for e in episodes), seen))
        parts = [k.actions(v, len(episodes)) for k, v in zip(self.kinds, got)]
        return [{k.name: part[i] for k, part in zip(self.kinds, parts)} for i in range(len(episodes))]

    def run_joined(self, request: dict[str, Any]) -> list[dict[str, np.ndarray[Any, Any]]]:
        """The actions of all episodes of a request with one observation, in which their graphs are laid one after another."""
        kind = self.kinds[0]
        feed = {i.name: shown(request, kind, name, name) for name, i in self.inputs.items()}
        if len(request["episodes"]) > 1:
            feed["count"] = shown(request, kind, "count", "count")
        got = self.session.run([self.outputs[self.actions[0]].name], feed)
        return [{kind.name: part} for part in kind.actions(got[0], len(request["episodes"]))]


def shown(episode: dict[str, Any], kind: Kind, own: str, name: str) -> Any:
    """What an episode shows of a kind for an input of that name."""
    seen = episode["observation"][kind.name]
    if own not in seen:
        raise ValueError(f"the environment does not show what the input {name!r} takes")
    return seen[own]


def part_shape(graph: dict[str, Any], name: str) -> list[int]:
    """The shape of a part of a graph as Gymnasium's Dict has it; a name that is none of them has none."""
    what, of, which = [*name.split("/"), ""][:3]
    x: dict[str, Any] = next((x for x in graph[what] if x["name"] == of), {"capacity": 0, "width": 0})
    shapes = {"": [x["capacity"], x["width"]], "count": [1], "ends": [2, x["capacity"]]}
    return shapes.get(which, [])


def part(seen: dict[str, Any], name: str, shape: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """A part of a graph in a batch of one, filled up with zeros."""
    what, of, which = [*name.split("/"), ""][:3]
    out = np.zeros((1, *shape), dtype)
    told = array(seen["node." + of if what == "nodes" else f"edge.{of}." + ("index" if which == "ends" else "features")], dtype)
    if which == "count":
        out[:] = len(told)
    elif which == "ends":
        out[0, :, : told.shape[1]] = told
    else:
        out[0, : len(told)] = told
    return out


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m stoker_rl.onnx", description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--bind", default="", metavar="NAME=WHAT,…")
    args = parser.parse_args()
    read, write = stdio()

    def start(spec: dict[str, Any]) -> Act:
        bind = dict(pair.split("=", 1) for pair in args.bind.split(",") if pair)
        return Model(args.file, bind, spec)

    converse(start, read, write)


if __name__ == "__main__":
    main()
