"""Models of Stable-Baselines3 as ONNX, and graphs in PyTorch Geometric, where these and a stoker (the variable STOKER) are."""

import re
import subprocess
import sys
import tempfile
import unittest
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from stoker_rl._process import StokerError, program

warnings.filterwarnings("ignore", message="a choice that the mask forbids")
MISSING = ", ".join(m for m in ("gymnasium", "onnxruntime", "stable_baselines3") if not find_spec(m))
MISSING = f"there is no {MISSING}" if MISSING else ""
try:
    program()
    NO_STOKER = ""
except StokerError as e:
    NO_STOKER = str(e)


@unittest.skipIf(MISSING, MISSING)
class Export(unittest.TestCase):
    def written(self, model, vec=None):
        from stoker_rl import export_sb3

        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = Path(folder.name) / "x.onnx"
        export_sb3(model, vec, file)
        return file

    def make(self, id):
        import gymnasium

        import stoker_rl  # noqa: F401

        e = gymnasium.make(id)
        self.addCleanup(e.close)
        return e

    def equal(self, model, seen, vec=None):
        import onnxruntime

        got = onnxruntime.InferenceSession(self.written(model, vec)).run(None, {"obs": seen})[0]
        want, _ = model.predict(vec.normalize_obs(seen) if vec else seen, deterministic=True)
        np.testing.assert_allclose(got, want, atol=1e-6)
        self.assertGreater(np.ptp(got), 1e-4)  # not all the same, such as all at a bound

    def test_use_sde(self):
        from stable_baselines3 import PPO, SAC

        env = self.make("Pendulum-v1")
        seen = np.random.default_rng(1).normal(size=(9, 3)).astype(np.float32)
        for squash in (False, True):
            self.equal(PPO("MlpPolicy", env, use_sde=True, policy_kwargs={"squash_output": squash}, seed=1, device="cpu"), seen)
        self.equal(SAC("MlpPolicy", env, use_sde=True, seed=1, device="cpu"), seen)

    def test_rescaled_actions(self):
        from gymnasium.wrappers import RescaleAction
        from stable_baselines3 import PPO

        with self.assertRaisesRegex(ValueError, "RescaleAction"):
            self.written(PPO("MlpPolicy", RescaleAction(self.make("Pendulum-v1"), -1, 1), n_steps=64, device="cpu"))
        if NO_STOKER:
            return
        env = RescaleAction(self.make("stoker/Pendulum-v1"), -0.5, 1)
        model = PPO("MlpPolicy", env, n_steps=64, seed=1, device="cpu")
        seen = np.random.default_rng(1).normal(size=(9, 3)).astype(np.float32)
        import onnxruntime

        got = onnxruntime.InferenceSession(self.written(model)).run(None, {"obs": seen})[0]
        np.testing.assert_allclose(got, env.action(model.predict(seen, deterministic=True)[0]), atol=1e-6)
        self.assertGreater(np.ptp(got), 1e-4)

    def test_states(self):
        """What a recurrent network keeps is each episode's own, and zero at its first step."""
        import torch

        from stoker_rl.onnx import Model

        class Counts(torch.nn.Module):
            def forward(self, obs, state):
                return obs[:, :1] * 10 + state, state + 1

        spec = {"id": "x", "kinds": [{"name": "agent", "agents": 1, "observation": {"type": "box", "width": 3},
                                      "action": {"type": "box", "width": 1}}]}

        def episode(slot, step):
            return {"slot": slot, "step": step, "observation": {"agent": {"observation": [[slot, 0, 0]], "active": [True]}}}

        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            file = str(Path(folder) / "x.onnx")
            for next_state, bind in (("state.n", {}), ("next", {"next": "state.n"})):
                torch.onnx.export(Counts(), (torch.zeros(1, 3), torch.zeros(1, 1)), file, input_names=["obs", "state.n"],
                                  output_names=["action", next_state], opset_version=17, dynamo=False)
                model = Model(file, bind, spec)
                got = [[a["agent"].item() for a in model([episode(*e) for e in asked])]
                       for asked in ([(1, 0), (2, 0)], [(1, 1), (2, 1)], [(1, 2), (2, 0)], [(1, 3), (2, 1)])]
                self.assertEqual(got, [[10, 20], [11, 21], [12, 20], [13, 21]])
            with self.assertRaisesRegex(ValueError, "--bind OUTPUT=state.n"):
                Model(file, {}, spec)

    @unittest.skipIf(NO_STOKER, NO_STOKER)
    def test_the_page(self):
        """What docs/python.md shows first runs, with fewer steps of training."""
        page = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
        (code,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
        self.assertIn("learn(20_000)", code)
        code = code.replace("learn(20_000)", "learn(2048)").replace("1-20", "1-10")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"mine keeps .* over 1 training seed and 10 workload seeds")

    @unittest.skipIf(NO_STOKER, NO_STOKER)
    def test_matrices(self):
        from stable_baselines3 import PPO
        from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

        vec = VecNormalize(DummyVecEnv([lambda: self.make("stoker/SimpleSpread-v1")]))
        with self.assertRaisesRegex(ValueError, "action space"):
            self.written(type("Model", (), {"action_space": None, "observation_space": vec.observation_space})())
        vec = VecNormalize(DummyVecEnv([lambda: self.make("stoker/Sizing-v3")]))
        vec.obs_rms.mean += np.arange(16.0)
        model = PPO("MlpPolicy", vec, n_steps=32, seed=1, device="cpu")
        model.policy.action_net.bias.data += 0.5  # the mean lies in the box
        seen = np.random.default_rng(1).normal(size=(5, 6, 16)).astype(np.float32)
        self.equal(model, seen, vec)

    @unittest.skipIf(NO_STOKER, NO_STOKER)
    def test_graphs(self):
        """A graph as `stoker eval` sends it makes the model act as the graph that it has learned on."""
        from stable_baselines3 import PPO

        from stoker_rl.onnx import Model

        for id in ("stoker/Steps-v1", "stoker/Placement-v2"):
            e = self.make(id)
            base = e.unwrapped
            model = PPO("MultiInputPolicy", e, n_steps=16, batch_size=16, seed=1, device="cpu")
            for weight in model.policy.mlp_extractor.parameters():
                weight.data *= 0.05  # numbers of edges' ends saturate nothing: choices differ from one observation to the next
            model.policy.action_net.weight.data *= 1e4
            judged = Model(str(self.written(model)), {}, base.stoker_spec)
            chosen = set()
            over = True
            e.action_space.seed(1)
            for step in range(16):
                if over:
                    obs, over = e.reset(seed=step)[0], False
                else:
                    obs, _, over, _, _ = e.step(e.action_space.sample())
                told = {}
                for name, a in obs.items():
                    what, of, *part = name.split("/")
                    if part == ["count"] and what == "nodes":
                        told["node." + of] = obs["nodes/" + of][: a[0]]
                    elif part == ["count"]:
                        rows = obs.get("edges/" + of, np.zeros((a[0], 0)))
                        told[f"edge.{of}.features"] = rows[: a[0]]
                        told[f"edge.{of}.index"] = obs[f"edges/{of}/ends"][:, : a[0]]
                kind = base.stoker_spec["kinds"][0]["name"]
                episode = {"slot": 0, "step": 0, "observation": {kind: told}}
                for name in judged.inputs:
                    np.testing.assert_array_equal(judged.sources[name]([episode])[0], obs[name], err_msg=name)
                got = judged([episode])[0][kind]
                want, _ = model.predict(obs, deterministic=True)
                np.testing.assert_array_equal(got.ravel(), np.ravel(want))
                chosen.add(tuple(got.ravel()))
            self.assertGreater(len(chosen), 1)
            other = next(x for x in ("stoker/Placement-v2", "stoker/Steps-v1") if x != id)
            with self.assertRaisesRegex(ValueError, "in the environment it is"):
                Model(str(self.written(model)), {}, self.make(other).unwrapped.stoker_spec)


@unittest.skipIf(NO_STOKER or not find_spec("gymnasium"), NO_STOKER or "there is no gymnasium")
@unittest.skipUnless(find_spec("torch_geometric"), "there is no torch_geometric: pip install torch torch_geometric")
class Hetero(unittest.TestCase):
    def test_a_network_reads_real_graphs(self):
        """PyTorch Geometric's own check passes, and a network over all kinds of nodes and edges gives a number for each node."""
        import gymnasium
        import torch
        from torch_geometric.nn import SAGEConv, to_hetero

        import stoker_rl

        e = gymnasium.make("stoker/Placement-v2")
        self.addCleanup(e.close)
        obs, _ = e.reset(seed=1)
        for _ in range(20):
            obs = e.step(e.action_space.sample())[0]
        data = stoker_rl.to_hetero(obs, e.unwrapped.stoker_spec)
        data.validate()
        self.assertEqual(set(data.node_types), {"function", "node", "invocation"})
        for kind in data.node_types:
            self.assertEqual(data[kind].num_nodes, obs[f"nodes/{kind}/count"].item())
            np.testing.assert_array_equal(data[kind].x, obs["nodes/" + kind][: data[kind].num_nodes])

        class Network(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = SAGEConv((-1, -1), 8), SAGEConv((-1, -1), 1)

            def forward(self, x, edge_index):
                return self.last(self.first(x, edge_index).relu(), edge_index)

        torch.manual_seed(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # edges that lead to no kind of nodes are none here
            network = to_hetero(Network(), data.metadata())
        with torch.no_grad():
            scores = network(data.x_dict, data.edge_index_dict)
            data["node"].x[0] += 1
            moved = network(data.x_dict, data.edge_index_dict)
        for kind, score in scores.items():
            self.assertEqual(tuple(score.shape), (data[kind].num_nodes, 1))
            self.assertTrue(torch.isfinite(score).all())
        self.assertFalse(all(torch.equal(scores[k], moved[k]) for k in scores))


if __name__ == "__main__":
    unittest.main()
