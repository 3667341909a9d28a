"""Steps a second beside Gymnasium's own environments, in turns: python bench.py [TURNS]. The variable STOKER names the program."""

import statistics
import sys
import time

import gymnasium as gym
import numpy as np
import stoker_rl  # noqa: F401

SECONDS = 0.5


def rate(env, copies, action):
    env.reset(seed=1)
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        for _ in range(50):
            ended = env.step(action)[2:4]
            if copies == 1 and (ended[0] or ended[1]):
                env.reset()
        steps += 50 * copies
    return steps / (time.perf_counter() - start)


def vector(id, n, mode="vector_entry_point"):
    return gym.make_vec(id, num_envs=n, vectorization_mode=mode)


ROWS = {
    "one copy": (1, lambda: gym.make("stoker/CartPole-v1"), lambda: gym.make("CartPole-v1")),
    "16 copies, SyncVectorEnv": (16, lambda: vector("stoker/CartPole-v1", 16), lambda: vector("CartPole-v1", 16, "sync")),
    "256 copies, NumPy": (256, lambda: vector("stoker/CartPole-v1", 256), lambda: vector("CartPole-v1", 256)),
}

for name, (copies, ours, theirs) in ROWS.items():
    pair = ours(), theirs()
    actions = [np.random.default_rng(1).integers(2, size=copies) if copies > 1 else 1] * 2
    rates = [[rate(e, copies, a) for e, a in zip(pair, actions)] for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 7)]
    ratios = sorted(a / b for a, b in rates)
    median = [statistics.median(column) for column in zip(*rates)]
    print(f"{name}: {median[0]:,.0f} steps/s, Gymnasium {median[1]:,.0f}, ratio {statistics.median(ratios):.1f} "
          f"({ratios[0]:.1f} to {ratios[-1]:.1f})", flush=True)
    for e in pair:
        e.close()
