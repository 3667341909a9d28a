"""Speed beside Gymnasium's own environments and MPE2's, in turns, the share of a step's time that Python takes, and memory over
ten million steps: python bench.py [TURNS]. The variable STOKER names the program; rows of MPE2 need pip install mpe2==1.1.1."""

import statistics
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import gymnasium as gym
import numpy as np

import stoker_rl

SECONDS = 0.5


def rate(env, copies, action):
    env.reset(seed=1)
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        for _ in range(50):
            ended, cut = env.step(action)[2:4]
            if isinstance(ended, dict):  # of PettingZoo, whose agents are gone in the end
                if not env.agents:
                    env.reset()
            elif copies == 1 and (ended or cut):
                env.reset()
        steps += 50 * copies
    return steps / (time.perf_counter() - start)


def vector(id, n, mode="vector_entry_point"):
    return gym.make_vec(id, num_envs=n, vectorization_mode=mode)


def spread():
    from mpe2 import simple_spread_v3

    return simple_spread_v3.parallel_env()


SPREAD = "stoker/SimpleSpread-v1"
EACH = {f"agent_{i}": i + 1 for i in range(3)}  # what each agent does in PettingZoo
ROWS = {
    "one copy": (1, lambda: gym.make("stoker/CartPole-v1"), lambda: gym.make("CartPole-v1")),
    "16 copies, SyncVectorEnv": (16, lambda: vector("stoker/CartPole-v1", 16), lambda: vector("CartPole-v1", 16, "sync")),
    "256 copies over SyncVectorEnv's 16": (256, lambda: vector("stoker/CartPole-v1", 256), lambda: vector("CartPole-v1", 16, "sync")),
    "256 copies, NumPy": (256, lambda: vector("stoker/CartPole-v1", 256), lambda: vector("CartPole-v1", 256)),
}
if find_spec("mpe2"):  # steps of all three agents
    ROWS["simple_spread, one copy, PettingZoo"] = 1, lambda: stoker_rl.parallel_env(SPREAD), spread
    for copies in (16, 256):
        ROWS[f"simple_spread, {copies} copies over MPE2's one"] = copies, lambda n=copies: vector(SPREAD, n), spread

for name, (copies, ours, theirs) in ROWS.items():
    pair = ours(), theirs()
    of = [copies, getattr(pair[1], "num_envs", copies)]
    actions = [np.random.default_rng(1).integers(2, size=n) if n > 1 else 1 for n in of]
    if "spread" in name:
        actions = [np.tile([[1], [2], [3]], (copies, 1, 1)) if copies > 1 else EACH, EACH]
        of[1] = 1
    rates = [[rate(e, n, a) for e, n, a in zip(pair, of, actions)] for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 7)]
    ratios = sorted(a / b for a, b in rates)
    median = [statistics.median(column) for column in zip(*rates)]
    print(f"{name}: {median[0]:,.0f} steps/s, the other {median[1]:,.0f}, ratio {statistics.median(ratios):.1f} "
          f"({ratios[0]:.1f} to {ratios[-1]:.1f})", flush=True)
    for e in pair:
        e.close()

for name, copy in (("Sizing-v3", True), ("Pricing-v1", True), ("Placement-v2", True), ("Placement-v2", False)):
    env = gym.make_vec("stoker/" + name, num_envs=16, vectorization_mode="vector_entry_point", copy=copy)
    env.reset(seed=1)
    process, inside = env.unwrapped._o.process, 0.0
    serve = process.step

    def timed(serve=serve):
        global inside
        start = time.perf_counter()
        serve()
        inside += time.perf_counter() - start

    process.step = timed
    actions = [env.action_space.sample() for _ in range(20)]
    n, start = 0, time.perf_counter()
    while (total := time.perf_counter() - start) < 8 * SECONDS:
        env.step(actions[n % len(actions)])
        n += 1
    print(f"16 copies of {name}{'' if copy else ', copy=False'}: {16 * n / total:,.0f} steps/s, {100 * (1 - inside / total):.1f} % of the time in Python", flush=True)
    env.close()


def resident(process):
    line = next(s for s in Path(f"/proc/{process}/status").read_text().splitlines() if s.startswith("VmRSS"))
    return int(line.split()[1]) // 1024


if Path("/proc/self/status").exists():
    env = vector("stoker/CartPole-v1", 256)
    env.reset(seed=1)
    actions = np.random.default_rng(1).integers(2, size=(64, 256))
    for i in range(40_001):
        env.step(actions[i % 64])
        if i % 10_000 == 0:
            print(f"{256 * i:,} steps: {resident('self')} MB in Python, {resident(env.unwrapped._o.process._child.pid)} in stoker")
    env.close()
