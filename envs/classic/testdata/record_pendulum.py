"""Records what Gymnasium's Pendulum-v1 does, for the comparison in pendulum_test.go.

usage: python record_pendulum.py, with gymnasium 1.4.0 and numpy. It writes pendulum_gymnasium.csv beside itself: two episodes of
random torques from Gymnasium's own starts, then single steps from angles of many turns and from beyond the largest velocity
that a step may reach. Numbers are in hexadecimal floating point, so that none is rounded.
"""
import pathlib
import gymnasium
import numpy as np

rng = np.random.default_rng(1)
env = gymnasium.make("Pendulum-v1")
hexed = lambda xs: ",".join(float(x).hex() for x in xs)
with open(pathlib.Path(__file__).parent / "pendulum_gymnasium.csv", "w") as f:
    f.write("angle,velocity,torque,next angle,next velocity,reward,seen (3),truncated\n")

    def step(torque):
        before = env.unwrapped.state.copy()
        seen, reward, terminated, truncated, _ = env.step(np.array([torque], dtype=np.float32))
        assert not terminated
        f.write(",".join([hexed([*before, np.float32(torque), *env.unwrapped.state, reward, *seen]), str(int(truncated))]) + "\n")

    for seed in range(2):
        env.reset(seed=seed)
        for _ in range(200):
            step(rng.uniform(-2, 2))
    for _ in range(200):
        env.reset(seed=0)
        env.unwrapped.state = np.array([rng.uniform(-20, 20), rng.uniform(-8, 8)])
        step(rng.choice([-2, 2, rng.uniform(-2, 2)]))
