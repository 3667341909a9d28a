"""Records single steps of Gymnasium's CartPole-v1 and of MPE2's simple_spread_v3, for the comparison in reference_test.go.

usage: python record.py, with gymnasium 1.4.0, mpe2 1.1.1 and numpy; writes cartpole_gymnasium.csv and spread_mpe2.csv beside it.
Numbers are in hexadecimal floating point, so that none is rounded.
"""
import pathlib
import gymnasium
import numpy as np
from mpe2 import simple_spread_v3

here = pathlib.Path(__file__).parent
hexed = lambda xs: ",".join(float(x).hex() for x in xs)

env = gymnasium.make("CartPole-v1").unwrapped
rng = np.random.default_rng(1)
with open(here / "cartpole_gymnasium.csv", "w") as f:
    f.write("x,v,theta,omega,action,next x,next v,next theta,next omega,terminated\n")
    for _ in range(500):
        env.reset(seed=0)
        start = rng.uniform([-2.6, -4, -0.23, -4], [2.6, 4, 0.23, 4])
        env.state = tuple(float(x) for x in start)
        action = int(rng.integers(2))
        _, _, terminated, _, _ = env.step(action)
        f.write(f"{hexed(start)},{action},{hexed(env.state)},{int(terminated)}\n")

env = simple_spread_v3.parallel_env(N=3, local_ratio=0.5, max_cycles=25)
with open(here / "spread_mpe2.csv", "w") as f:
    f.write("agents' positions,velocities,landmarks (6 each),actions (3),next positions,next velocities (6 each),rewards (3)\n")
    for episode in range(4):
        env.reset(seed=episode)
        world = env.unwrapped.world
        for i, agent in enumerate(world.agents):  # in contact from the start, or nearly
            agent.state.p_pos = np.array([0.1, 0.28, 0.299, 0.31][episode] * i * np.array([0.8, 0.6]))
        for _ in range(25):
            state = lambda: [np.concatenate([a.state.p_pos for a in world.agents]), np.concatenate([a.state.p_vel for a in world.agents])]
            before = np.concatenate(state() + [l.state.p_pos for l in world.landmarks]).copy()
            actions = {a: int(rng.integers(5)) for a in env.agents}
            _, rewards, _, _, _ = env.step(actions)
            row = [hexed(before), ",".join(str(a) for a in actions.values()), hexed(np.concatenate(state())), hexed(rewards.values())]
            f.write(",".join(row) + "\n")
