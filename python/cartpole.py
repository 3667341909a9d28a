"""Stable-Baselines3's PPO on CartPole of Stoker and of Gymnasium, in turn: python cartpole.py [SEEDS] [STEPS]

For each training seed and environment: steps a second of training, and the mean return over 50 episodes of Gymnasium's CartPole.
"""

import statistics
import sys
import time

import gymnasium
import stable_baselines3
import torch
from stable_baselines3.common.evaluation import evaluate_policy

import stoker_rl  # noqa: F401 - it registers the environments

seeds, steps = (int(x) for x in (sys.argv[1:] + ["5", "30000"][len(sys.argv) - 1 :]))
torch.set_num_threads(1)
rates, returns = {}, {}
print("| seed | environment | steps/s | return |\n|---|---|---|---|")
for seed in range(1, seeds + 1):
    for name in ("stoker/CartPole-v1", "CartPole-v1"):
        model = stable_baselines3.PPO("MlpPolicy", gymnasium.make(name), seed=seed, device="cpu")
        begun = time.perf_counter()
        model.learn(steps)
        rates.setdefault(name, []).append(steps / (time.perf_counter() - begun))
        test = gymnasium.make("CartPole-v1")
        test.reset(seed=5000 + seed)
        returns.setdefault(name, []).append(evaluate_policy(model, test, 50, warn=False)[0])
        print(f"| {seed} | {name} | {rates[name][-1]:.0f} | {returns[name][-1]:.1f} |", flush=True)
ours, theirs = rates.values()
print(
    f"\nratio of steps/s: {statistics.median(a / b for a, b in zip(ours, theirs)):.2f} "
    f"({min(a / b for a, b in zip(ours, theirs)):.2f} to {max(a / b for a, b in zip(ours, theirs)):.2f})"
)
for name, r in returns.items():
    print(f"{name}: mean return {statistics.mean(r):.1f}")
