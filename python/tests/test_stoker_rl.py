"""python -m unittest discover python/tests: what a policy sees and answers. Exports are tested where SB3 is installed."""

import io
import json
import tempfile
import unittest
from pathlib import Path

import numpy as np

from stoker_rl._serve import converse, starter
from stoker_rl._spaces import Kind

BOX = {"type": "box", "width": 2}
KIND = {"name": "agent", "agents": 2, "observation": {"type": "box", "width": 3}, "action": BOX}


def spec(**more):
    return {"id": "test/Pair-v1", "kinds": [{**KIND, **more}]}


def episode(slot, step, first=0.0, **more):
    rows = [[first, 1.0, 2.0], [3.0, 4.0, 5.0]]
    return {"slot": slot, "step": step, "observation": {"agent": {"observation": rows, "active": [True, True], **more}}}


def talk(policy, *requests, raw=False, of=None, hello="policy/1"):
    lines = [{"stoker": hello, "spec": of or spec()}]
    lines += [{"id": i + 1, "episodes": r} for i, r in enumerate(requests)]
    read, write = io.BytesIO("".join(json.dumps(x) + "\n" for x in lines).encode()), io.BytesIO()
    try:
        converse(starter(policy, raw), read, write)
    except SystemExit:
        pass
    return [json.loads(x) for x in write.getvalue().splitlines()]


class WithSpace:
    """A policy with an observation_space of a shape, that remembers what it got."""

    def __init__(self, *shape):
        self.observation_space = type("Space", (), {"shape": shape})()

    def predict(self, observation, deterministic=False):
        self.got = observation.shape
        rows = len(observation)
        return np.zeros((rows, 4 if self.got[-1] == 6 else 2)), None


class Serve(unittest.TestCase):
    def test_function(self):
        said = talk(lambda obs: obs[:, :, :2] * 2, [episode(1, 0, 0.5), episode(2, 0)])
        self.assertEqual(said[0], {"stoker": "policy/1", "arrays": "base64"})
        self.assertEqual(said[1], {"id": 1, "actions": [{"agent": [[1, 2], [6, 8]]}, {"agent": [[0, 2], [6, 8]]}]})

    def test_bytes_after_the_line(self):
        """They say what base64 says, end with the request, and a cut request is not answered."""
        after = np.array([0, 1, 2, 3, 4, 5], np.float32).tobytes() + b"\1\0"
        seen = {"observation": {"dtype": "<f4", "shape": [2, 3], "at": 0}, "active": {"dtype": "?", "shape": [2], "at": 24},
                "none": {"dtype": "<f4", "shape": [0, 3], "at": 26}}

        def conversation(cut):
            line = json.dumps({"id": 1, "episodes": [{"slot": 0, "step": 0, "observation": {"agent": seen}}], "bytes": len(after)})
            hello = json.dumps({"stoker": "policy/1", "arrays": "bytes", "spec": spec()})
            once = line.encode() + b"\n" + after
            read, write = io.BytesIO(hello.encode() + b"\n" + once + once[:len(once) - cut]), io.BytesIO()
            converse(starter(lambda obs, active: obs[:, :, :2] * active[:, :, None], False), read, write)
            return [json.loads(x) for x in write.getvalue().splitlines()]

        said = conversation(0)
        self.assertEqual(said[0], {"stoker": "policy/1", "arrays": "bytes"})
        self.assertEqual(said[1], {"id": 1, "actions": [{"agent": [[0, 1], [0, 0]]}]})
        self.assertEqual(said[2], said[1])
        self.assertEqual(conversation(1), said[:2])

    def test_layouts(self):
        for shape, want in {(3,): (4, 3), (6,): (2, 6), (2, 3): (2, 2, 3)}.items():
            policy = WithSpace(*shape)
            if shape == (2, 3):
                policy.predict = lambda observation, p=policy: (setattr(p, "got", observation.shape), np.zeros((2, 2, 2)))[1]
            said = talk(policy, [episode(1, 0), episode(2, 0)])
            self.assertEqual(policy.got, want)
            self.assertEqual(said[1]["actions"], [{"agent": [[0, 0], [0, 0]]}] * 2)
        self.assertIn("in the environment it is [batch, 2, 3]", talk(WithSpace(5))[0]["error"])

    def test_errors(self):
        nan = talk(lambda obs: np.where(obs[:, :, :2] < 0, np.nan, 1.0), [episode(1, 0), episode(2, 0, -1.0)])[1]
        self.assertEqual(nan["episode"], 1)
        self.assertIn("not finite", nan["error"])
        self.assertIn("has the shape [2, 1]", talk(lambda obs: np.zeros((2, 1)), [episode(1, 0), episode(2, 0)])[1]["error"])
        self.assertIn("says 'policy/2'", talk(lambda obs: obs, hello="policy/2")[0]["error"])
        self.assertIn("raw=True", talk(lambda obs: obs, of={"id": "x", "kinds": [KIND, KIND]})[0]["error"])

    def test_other_boxes(self):
        """Actions of RescaleAction are brought to the environment's bounds; a box without bounds is refused."""
        class Within:
            def __init__(self, low, high):
                self.action_space = type("Space", (), {"low": np.full(2, low, np.float32), "high": np.full(2, high, np.float32)})()

            def predict(self, observation):
                return np.stack([self.action_space.low, self.action_space.high])[None], None

        def of(**bounds):
            return spec(action={**BOX, **bounds})

        asked = [episode(1, 0)]
        for low, high, bounds, want in ((0, 5, {"low": [0, 0], "high": [5, 5]}, [0, 5]), (-1, 1, {"low": [0], "high": [0.1]}, [0, 0.1]),
                                        (-1, 1, {"low": [0, 0], "high": [5, 5]}, [0, 5]), (0, 1, {"low": [2, 2], "high": [3, 3]}, [2, 3])):
            (acts,) = talk(Within(low, high), asked, of=of(**bounds))[1]["actions"]
            np.testing.assert_allclose(acts["agent"], np.repeat(np.reshape(want, (2, 1)), 2, 1), atol=1e-6)
        for low, high, bounds in ((-np.inf, np.inf, {"low": [0, 0], "high": [5, 5]}), (-1, 1, {"low": [0, 0], "high": [None, None]})):
            self.assertIn("action_space", talk(Within(low, high), asked, of=of(**bounds))[0]["error"])

    def test_normalised(self):
        """A model of VecNormalize sees what it has learned on."""
        class Model(WithSpace):
            def get_vec_normalize_env(self):
                return type("Vec", (), {"normalize_obs": staticmethod(lambda obs: obs - 1)})

            def predict(self, observation):
                return observation[:, :, :2], None

        self.assertEqual(talk(Model(2, 3), [episode(1, 0)])[1]["actions"], [{"agent": [[-1, 0], [2, 3]]}])

    def test_raw(self):
        said = talk(lambda e: {"agent": [[e["slot"], 0], [0, 0]]}, [episode(7, 0)], raw=True)
        self.assertEqual(said[1]["actions"], [{"agent": [[7, 0], [0, 0]]}])

    def test_masks_and_states(self):
        one = {"name": "agent", "agents": 1, "observation": {"type": "box", "width": 3}, "action": {"type": "discrete", "n": [2]}}

        def first(mask):
            return {"slot": 1, "step": 0, "observation": {"agent": {"observation": [[0, 1, 2]], "mask": [mask]}}}

        said = talk(lambda obs, action_masks: action_masks.argmax(axis=1), [first([False, True]), first([True, True])],
                    of={"id": "x", "kinds": [one]})
        self.assertEqual(said[1]["actions"], [{"agent": [[1]]}, {"agent": [[0]]}])

        def counts(obs, state=None, episode_start=None):  # how many steps an episode has had
            state = np.where(episode_start, 0, 0 if state is None else state + 1)
            return np.broadcast_to(state[:, None, None], (len(obs), 2, 2)), state

        said = talk(counts, [episode(1, 0), episode(2, 0)], [episode(1, 1), episode(3, 0)], [episode(1, 2), episode(3, 1)])
        self.assertEqual([[a["agent"][0][0] for a in x["actions"]] for x in said[1:]], [[0, 0], [1, 0], [2, 1]])


class Export(unittest.TestCase):
    def test_ppo(self):
        try:
            import gymnasium
            import onnxruntime
            from stable_baselines3 import PPO
            from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
        except ImportError as e:
            self.skipTest(str(e))
        from stoker_rl import export_sb3

        vec = VecNormalize(DummyVecEnv([lambda: gymnasium.make("Pendulum-v1")]))
        model = PPO("MlpPolicy", vec, n_steps=64, seed=1, device="cpu").learn(128)
        with tempfile.TemporaryDirectory() as d:
            file = Path(d) / "x.onnx"
            export_sb3(model, vec, file)
            session = onnxruntime.InferenceSession(file)
        seen = np.random.default_rng(1).normal(size=(9, 3)).astype(np.float32)
        want, _ = model.predict(vec.normalize_obs(seen), deterministic=True)
        np.testing.assert_allclose(session.run(None, {"obs": seen})[0], want, atol=1e-6)


class Layout(unittest.TestCase):
    def test_ambiguous(self):
        kind = Kind(KIND)
        self.assertEqual(kind.layout(("batch", 3), 3, "x"), (2, 3))
        self.assertEqual(kind.layout((None,), 3, "x"), (3,))


if __name__ == "__main__":
    unittest.main()
