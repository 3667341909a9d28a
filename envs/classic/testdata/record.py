"""Records what Gymnasium's CartPole-v1 and MPE2's simple_spread_v3 do, for the comparison in reference_test.go.

usage: python record.py [FILE], with gymnasium 1.4.0, mpe2 1.1.1 and numpy. Without FILE it writes cartpole_gymnasium.gz and
spread_mpe2.csv beside itself; with FILE the whole recording of CartPole, of which cartpole_gymnasium.gz is every fiftieth.

The recording of CartPole is gzip of little-endian fields: the number of steps and of episodes (uint32); per step state, next
state (4 float64 each), action, terminated (uint8); per episode first and last state (4 float64 each), limit, length (uint16),
terminated, truncated (uint8), and the actions, one bit each, lowest first. Numbers of spread_mpe2.csv are in hexadecimal
floating point. So none is rounded.
"""
import gzip
import math
import pathlib
import struct
import sys
import gymnasium
import numpy as np
from mpe2 import simple_spread_v3

here = pathlib.Path(__file__).parent
rng = np.random.default_rng(1)
STEPS, EPISODES, SHARE = 100_000, 10_000, 50


def step_from(env, start, action):
    env.reset(seed=0)
    env.state = np.array(start, dtype=np.float64)
    _, reward, terminated, truncated, _ = env.step(action)
    assert reward == 1.0 and not truncated
    return struct.pack("<8d2B", *start, *env.state, action, terminated)


def steps():
    """From states somewhat beyond the bounds, so that both flags are seen; first from the bounds themselves."""
    env = gymnasium.make("CartPole-v1").unwrapped
    edges = [0.0, 2.4, math.nextafter(2.4, 3)], [0.0, env.theta_threshold_radians, math.nextafter(env.theta_threshold_radians, 1)]
    bounds = [step_from(env, (s * x, 0.0, s * a, 0.0), action) for x in edges[0] for a in edges[1] for s in (1, -1) for action in (0, 1)]
    starts = rng.uniform([-2.6, -4, -0.23, -4], [2.6, 4, 0.23, 4], size=(STEPS - len(bounds), 4))
    return bounds, [step_from(env, [float(x) for x in s], int(rng.integers(2))) for s in starts]


def episode(env, limit, seed):
    """One of random actions, from Gymnasium's own start, to the end."""
    env.reset(seed=seed)
    start, bits, length = tuple(env.unwrapped.state), bytearray(), 0
    while True:
        action = int(rng.integers(2))
        if length % 8 == 0:
            bits.append(0)
        bits[-1] |= action << length % 8
        length += 1
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            return struct.pack("<8d2H2B", *start, *env.unwrapped.state, limit, length, terminated, truncated) + bytes(bits)


def write(file, steps, episodes):
    data = struct.pack("<2I", len(steps), len(episodes)) + b"".join(steps) + b"".join(episodes)
    pathlib.Path(file).write_bytes(gzip.compress(data, mtime=0))


# Every other episode is cut after 20 steps, where random actions have dropped half of the poles.
bounds, others = steps()
made = {limit: gymnasium.make("CartPole-v1", max_episode_steps=limit) for limit in (500, 20)}
episodes = [episode(made[(500, 20)[seed % 2]], (500, 20)[seed % 2], seed) for seed in range(EPISODES)]
if len(sys.argv) > 1:
    write(sys.argv[1], bounds + others, episodes)
    sys.exit()
write(here / "cartpole_gymnasium.gz", bounds + others[::SHARE], episodes[:EPISODES // SHARE])

hexed = lambda xs: ",".join(float(x).hex() for x in xs)
rng = np.random.default_rng(1)
env = simple_spread_v3.parallel_env(N=3, local_ratio=0.5, max_cycles=25)
with open(here / "spread_mpe2.csv", "w") as f:
    f.write("agents' positions,velocities,landmarks (6 each),actions (3),next positions,next velocities (6 each),rewards (3)\n")
    for number in range(4):
        env.reset(seed=number)
        world = env.unwrapped.world
        for i, agent in enumerate(world.agents):  # in contact from the start, or nearly
            agent.state.p_pos = np.array([0.1, 0.28, 0.299, 0.31][number] * i * np.array([0.8, 0.6]))
        for _ in range(25):
            state = lambda: [np.concatenate([a.state.p_pos for a in world.agents]), np.concatenate([a.state.p_vel for a in world.agents])]
            before = np.concatenate(state() + [l.state.p_pos for l in world.landmarks]).copy()
            actions = {a: int(rng.integers(5)) for a in env.agents}
            _, rewards, _, _, _ = env.step(actions)
            row = [hexed(before), ",".join(str(a) for a in actions.values()), hexed(np.concatenate(state())), hexed(rewards.values())]
            f.write(",".join(row) + "\n")
