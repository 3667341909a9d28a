"""Stoker's environments for Gymnasium: many copies in one process."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ._process import ADVANCE, BEGIN, ENDED, LEAVE, REPLACED
from .env import Array, Config, Opened, no_options, workload_seed

_ONE = np.uint64(1)


class StokerVectorEnv(VectorEnv[Any, Any, Any]):
    """num_envs copies in one process, which steps them on all cores. With copy=False observations are views that the next
    step overwrites."""

    def __init__(self, id: str, num_envs: int = 1, config: Config = None, overrides: Iterable[str] = (), split: str = "train",
                 illegal: str = "substitute", autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP, copy: bool = True,
                 workers: int = 0, stoker: str | None = None, render_mode: str | None = None) -> None:
        if not isinstance(num_envs, (int, np.integer)):
            raise TypeError(f"num_envs is {num_envs!r}, want a whole number")
        self.num_envs, self.render_mode, self._copy = int(num_envs), None, copy
        self._o = o = Opened(id, config, overrides, split, self.num_envs, illegal, stoker, workers)
        self._mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self._mode}
        self._single = o.single
        self._at: Any = (slice(None), 0, ...) if self._single else ...
        self.single_observation_space, self.single_action_space, self.stoker_spec = o.observation_space, o.action_space, o.spec
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._ended = self._none = np.zeros(num_envs, bool)
        self._any = False  # of _ended
        self._advancing = False  # all commands are
        self._flags = np.ones(num_envs, bool)
        self._views()

    def _views(self) -> None:
        """What an answer has beside observations: another process has other arrays."""
        o, a = self._o, self._o.process.arrays
        self._told = {"elapsed": a["elapsed"]}
        for k in o.kinds:
            suffix = "" if len(o.kinds) == 1 else "/" + k.name
            if k.discrete:
                self._told["action_mask" + suffix] = k.mask[self._at]
                self._told["substituted"] = a["substituted"]
            if not self._single:
                self._told["active" + suffix] = k.active
        self._all = {"_" + name: self._flags for name in (*o.quantities, *self._told)}
        self._quantities = a["info"].T
        self._shown = o.whole(lambda k: k.see(self._at, False))
        self._advancing = False

    def reset(self, *, seed: int | list[int | None] | None = None,
              options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin episodes: of seed, seed + 1 and so on, of a list of seeds, or of drawn ones. options["reset_mask"] says
        which copies."""
        options = dict(options or {})
        mask = np.asarray(options.pop("reset_mask", np.ones(self.num_envs, bool)))
        no_options(options)
        if mask.dtype != bool or mask.shape != (self.num_envs,):
            raise ValueError(f'options["reset_mask"] has the shape {mask.shape} of {mask.dtype}, want {(self.num_envs,)} of bool')
        seeds: list[int | None] = [None] * self.num_envs
        if isinstance(seed, int):
            seeds = [seed + i for i in range(self.num_envs)]
        elif seed is not None:
            seeds = [None if s is None else operator.index(s) for s in seed]
        for s in seeds:
            if s is not None:
                workload_seed(s)
        if len(seeds) != self.num_envs:
            raise ValueError(f"{len(seeds)} seeds, want one of each of the {self.num_envs} copies, or a single number")
        super().reset(seed=seed if isinstance(seed, int) else None)
        if None not in seeds and not isinstance(seed, int):  # later episodes follow from a list, too
            self.np_random = np.random.default_rng(seeds)  # type: ignore[arg-type,unused-ignore]
        if not self._o.process.alive:
            self._o.again()
            self._views()
        self._begin(mask, seeds)
        self._ended = self._ended & ~mask
        self._any = bool(self._ended.any())
        return self._seen(), self._infos()

    def _begin(self, which: Array, seeds: list[int | None]) -> None:
        p = self._o.process
        p.ready()
        self._advancing = False
        p.commands[:] = np.where(which, BEGIN, LEAVE)
        self._draw(which)
        for i, given in enumerate(seeds):
            if given is not None:
                p.seeds[i] = given
        p.step()

    def _draw(self, which: Array) -> None:
        """Draw the seeds of copies that begin."""
        at = which.nonzero()[0]
        bits = self.np_random.bit_generator
        if type(bits) is np.random.PCG64:  # what integers draws, in a tenth of its time
            drawn = bits.random_raw(len(at)) >> _ONE
        else:
            drawn = self.np_random.integers(2**63, size=len(at), dtype=np.uint64)
        self._o.process.seeds[at] = drawn

    def step(self, actions: Any) -> tuple[Any, Array, Array, Array, dict[str, Any]]:
        """One step of all copies."""
        o = self._o
        p = o.process
        a = p.arrays
        if self._any and self._mode == AutoresetMode.DISABLED:
            raise ValueError(f"the episodes of the copies {np.flatnonzero(self._ended).tolist()} have ended: reset them with "
                             'options={"reset_mask": …}')
        o.write(actions, self._at)
        if self._any and self._mode == AutoresetMode.NEXT_STEP:
            p.commands[:] = np.where(self._ended, BEGIN, ADVANCE)
            self._draw(self._ended)
            self._advancing = False
        elif not self._advancing:
            p.commands[:] = ADVANCE
            self._advancing = True
        p.step()
        if p.words[REPLACED]:
            o.substituted()
        rewards, terminated, truncated = a["reward"].copy(), a["terminated"].copy(), a["truncated"].copy()
        self.last_rewards = o.kinds[0].reward  # of each agent of the first kind
        self._any = p.words[ENDED] > 0
        self._ended = terminated | truncated if self._any else self._none
        if not self._any or self._mode != AutoresetMode.SAME_STEP:
            return self._seen(), rewards, terminated, truncated, self._infos()
        self.last_rewards = self.last_rewards.copy()  # the next lines overwrite them
        ended = self._ended
        last = self._seen(copy=True)
        more: dict[str, Any] = {"final_obs": np.empty(self.num_envs, object), "_final_obs": ended.copy(),
                                "final_info": self._infos(), "_final_info": ended.copy()}
        for i in np.flatnonzero(ended):
            more["final_obs"][i] = _part(last, int(i))
        self._begin(ended, [])
        return self._seen(), rewards, terminated, truncated, {**self._infos(), **more}

    def _seen(self, copy: bool | None = None) -> Any:
        copying = self._copy if copy is None else copy
        return _copied(self._shown) if copying else self._o.whole(lambda k: k.see(self._at, False))

    def _infos(self) -> dict[str, Any]:
        told: dict[str, Any] = {name: view.copy() for name, view in self._told.items()}
        if self._o.quantities:
            told.update(zip(self._o.quantities, self._quantities.copy()))
        told.update(self._all)
        return told

    def action_masks(self) -> Array:
        """The masks of all copies, each in a row."""
        parts = [k.mask.reshape(self.num_envs, -1) for k in self._o.chosen()]
        return np.concatenate(parts, axis=1)

    def close_extras(self, **kwargs: Any) -> None:
        """End the process."""
        self._o.process.close()


def _copied(seen: Any) -> Any:
    if isinstance(seen, dict):
        return {k: _copied(v) for k, v in seen.items()}
    return seen.copy()


def _part(seen: Any, i: int) -> Any:
    if isinstance(seen, dict):
        return {k: _part(v, i) for k, v in seen.items()}
    return seen[i]
