"""Policies that Stable-Baselines3 and CleanRL train here, judged beside Stoker's: python contestants.py [NAME…]

NAME is pricing, deeprm, sizing or cleanrl; without one, all. CLEANRL names CleanRL's ppo.py, of which a copy gets one changed line;
the variable STOKER names the program. Needs stable-baselines3 and sb3-contrib, and of CleanRL's tyro and tensorboard.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import gymnasium

import stoker_rl

SEEDS = "5001-5020"  # no training run and no search has seen them


def pricing():
    from stable_baselines3 import PPO

    model = PPO("MlpPolicy", gymnasium.make("stoker/Pricing-v1"), seed=1, device="cpu").learn(40_000)
    return stoker_rl.evaluate(model, "stoker/Pricing-v1", SEEDS, ["spss", "pba"], name="sb3-ppo")


def deeprm():
    from sb3_contrib import MaskablePPO

    model = MaskablePPO("MlpPolicy", gymnasium.make("stoker/DeepRM-v1"), seed=1, device="cpu").learn(100_000)
    return stoker_rl.evaluate(model, "stoker/DeepRM-v1", SEEDS, ["sjf", "tetris-star", "random"], name="sb3-maskable-ppo")


def sizing():
    """One policy for all functions, which sees normalised numbers: the ONNX file has the statistics."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecNormalize

    env = VecNormalize(stoker_rl.SharedVecEnv("stoker/Sizing-v3", 8, config="sizing/main"), gamma=0.9)
    model = PPO("MlpPolicy", env, n_steps=120, batch_size=960, gamma=0.9, policy_kwargs={"log_std_init": -1}, seed=1, device="cpu")
    torch.nn.init.constant_(model.policy.action_net.bias, 0.5)  # begin in the middle of the box, not at its lower end
    model.learn(240_000)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sizing.onnx"
        stoker_rl.export_sb3(model, env, file)
        return judged(f"sb3-ppo={file}", ["--config", "sizing/main", "rule", "autoscaler", "fixed", "zoo:faasconf"])


def cleanrl():
    """The changed line keeps the network; --env-id MODULE:ID is Gymnasium's way to name a module to import."""
    source = Path(os.environ["CLEANRL"]).read_text()
    last = "    envs.close()\n"
    assert source.count(last) == 1
    with tempfile.TemporaryDirectory() as folder:
        script, policy = Path(folder) / "ppo.py", Path(folder) / "policy.py"
        script.write_text(source.replace(last, '    envs.close(), torch.save(agent.actor, "actor.pt")\n'))
        policy.write_text('''
import stoker_rl, torch
actor = torch.load("actor.pt", weights_only=False)
def act(obs, action_masks):
    with torch.no_grad():
        scores = actor(torch.as_tensor(obs))
        return torch.where(torch.as_tensor(action_masks), scores, -torch.inf).argmax(1, keepdim=True)
stoker_rl.serve(act)
''')
        subprocess.run([sys.executable, "-W", "ignore", script.name, "--env-id", "stoker_rl:stoker/DeepRM-v1", "--no-cuda",
                        "--total-timesteps", "100000"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return judged(f"cleanrl-ppo=cmd:{sys.executable} policy.py", ["--config", "config.yaml", "sjf", "tetris-star", "random"], folder,
                      'name: cleanrl\nenv: {id: stoker/DeepRM-v1}\nagent: {name: dqn}\n')


def judged(policy, arguments, folder=None, config=""):
    """What stoker eval says of a policy."""
    import json

    from stoker_rl._process import program

    with tempfile.TemporaryDirectory() as out:
        if config:
            Path(folder, "config.yaml").write_text(config)
        command = [str(Path(program()).resolve()), "eval", *arguments, "--policy", policy, "--python", sys.executable,
                   "--seeds", SEEDS, "--out", out, "--force", "--json"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


for name in sys.argv[1:] or ["pricing", "deeprm", "sizing", "cleanrl"]:
    result = {"pricing": pricing, "deeprm": deeprm, "sizing": sizing, "cleanrl": cleanrl}[name]()
    metrics = [m["name"] for m in result["metrics"] if m["name"] in (result.get("objective"), result.get("constraint"), "return")]
    print(f"\n{name}:\n\n| policy | " + " | ".join(metrics) + " |\n|---|" + "---|" * len(metrics))
    for p in result["policies"]:
        cells = [f"{v['mean']:.4g} ({v['mean_lo']:.4g} to {v['mean_hi']:.4g})" for v in (p["metrics"][m] for m in metrics)]
        print(f"| {p['name']} | " + " | ".join(cells) + " |")
    print("\n" + result["summary"])
    for o in result.get("out", []):
        print(f"out: {o['policy']}: {o['reason']}")
    sys.stdout.flush()
