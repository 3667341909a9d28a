"""python -m unittest discover python/tests: environments, where Gymnasium and a stoker (the variable STOKER) are."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from importlib.util import find_spec
from pathlib import Path

try:
    import gymnasium as gym
    import numpy as np

    from stoker_rl._process import StepServerDied, StokerError, program

    program()
    from stoker_rl import env as stoker_env

    IDS = stoker_env.register()
    MISSING = ""
except ImportError as e:
    MISSING = str(e)
except StokerError as e:
    MISSING = str(e)

warnings.filterwarnings("ignore", module="gymnasium")
warnings.filterwarnings("ignore", message="a choice that the mask forbids")


@unittest.skipIf(MISSING, MISSING)
class TestEnvironments(unittest.TestCase):
    def make(self, id, **more):
        e = gym.make(id, **more)
        self.addCleanup(e.close)
        return e

    def test_all_pass_the_checker(self):
        from gymnasium.utils.env_checker import check_env

        for id in IDS:
            with self.subTest(id):
                check_env(self.make(id).unwrapped, skip_render_check=True)

    def test_episodes_follow_from_their_seeds(self):
        for id in ("stoker/Pricing-v1", "stoker/Steps-v1"):
            one, other = self.make(id), self.make(id)
            seen = [e.reset(seed=5)[0] for e in (one, other)]
            one.action_space.seed(1)
            for _ in range(20):
                self.same(*seen)
                action = one.action_space.sample()
                told = [e.step(action) for e in (one, other)]
                seen = [t[0] for t in told]
                if any(told[0][2:4]):
                    break
            a, b = one.reset(seed=6)[0], other.reset(seed=7)[0]
            with self.assertRaises(AssertionError):
                self.same(a, b)

    def same(self, a, b):
        for key in a if isinstance(a, dict) else [...]:
            np.testing.assert_array_equal(a[key], b[key])

    def test_state(self):
        e = self.make("stoker/Steps-v1").unwrapped
        e.reset(seed=1)
        e.step(0)
        at, other = e.get_state(), e.copy()
        self.addCleanup(other.close)
        for _ in range(2):
            a, b = e.step(1), other.step(1)
            self.same(a[0], b[0])
            self.assertEqual(a[1:4], b[1:4])
        self.same(e.set_state(at)[0], other.set_state(at)[0])
        with self.assertRaises(ValueError):
            self.make("stoker/CartPole-v1").unwrapped.set_state(at)

    def test_deep_copies(self):
        e = self.make("stoker/CartPole-v1")
        before = copy.deepcopy(e)  # of wrappers, too
        self.addCleanup(before.close)
        e.reset(seed=1)
        e.step(0)
        e.action_space.seed(1)
        other = copy.deepcopy(e)
        self.addCleanup(other.close)
        self.same(e.step(1)[0], other.step(1)[0])
        self.same(before.reset(seed=1)[0], self.make("stoker/CartPole-v1").reset(seed=1)[0])
        self.assertEqual(e.action_space.sample(), other.action_space.sample())
        self.same(e.reset()[0], other.reset()[0])  # the drawn seed is the same
        while not e.step(0)[2]:
            pass
        ended = copy.deepcopy(e)
        self.addCleanup(ended.close)
        with self.assertRaisesRegex(Exception, "reset"):
            ended.unwrapped.step(0)
        v = gym.make_vec("stoker/CartPole-v1", num_envs=2, vectorization_mode="vector_entry_point")
        self.addCleanup(v.close)
        for attempt in (lambda: copy.deepcopy(v), lambda: pickle.dumps(e)):
            with self.assertRaisesRegex(TypeError, r"unwrapped\.copy\(\)"):
                attempt()

    def test_renamed_keys_are_warned_of(self):
        with self.assertWarnsRegex(UserWarning, "eval.rivals is called eval.baselines now") as told:
            self.make("stoker/CartPole-v1", config={"eval": {"rivals": ["random"]}})
        self.assertEqual(len(told.warnings), 1)

    def test_what_stoker_eval_warns_of(self):
        import stoker_rl

        def fails(obs):
            raise ValueError("two\nlines")

        config = {"env": {"id": "stoker/CartPole-v1"}, "eval": {"rivals": ["random"]}}
        with warnings.catch_warnings(record=True) as told, tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("always")
            stoker_rl.evaluate(fails, config, "1-2", out=folder)
        said = sorted(str(w.message) for w in told)
        self.assertEqual(len(said), 2, said)
        self.assertRegex(said[0], "eval.rivals is called eval.baselines now$")
        self.assertRegex(said[1], "^mine is out, from workload seed 1, step 0 on: ValueError: two\nlines")

    def test_a_single_override(self):
        one, two = (self.make("stoker/CartPole-v1", overrides=o).unwrapped.stoker_spec for o in ("env.max_steps=7", ["env.max_steps=7"]))
        self.assertEqual(one, two)

    def test_masks(self):
        e = self.make("stoker/Placement-v2", illegal="raise").unwrapped
        _, info = e.reset(seed=2)
        choices = []
        for _ in e.action_space.nvec:
            choices.append(int(np.argmax(e.mask_after(choices))))
        e.step(choices)
        self.assertEqual(e.action_masks().shape, (e.action_space.nvec.sum(),))
        with self.assertRaisesRegex(ValueError, "forbidden"):
            for first in range(e.action_space.nvec[0]):
                if not info["action_mask"][0][first]:
                    e.step([first, *choices[1:]])
        for wrong in ({"agent": -1}, {"agent": 1}, {"kind": -1}, {"kind": 1}):
            with self.assertRaisesRegex(ValueError, "want a number from 0 to 0"):
                e.mask_after([], **wrong)
        numbers = self.make("stoker/Pricing-v1").unwrapped
        numbers.reset(seed=1)
        vector = gym.make_vec("stoker/Pricing-v1", num_envs=2, vectorization_mode="vector_entry_point")
        self.addCleanup(vector.close)
        for ask in (numbers.action_masks, vector.action_masks, lambda: numbers.mask_after([])):
            with self.assertRaisesRegex(ValueError, "actions of stoker/Pricing-v1 are numbers"):
                ask()
        for id in ("stoker/Placement-v2", "stoker/DeepRM-v1", "stoker/CartPole-v1"):
            e = self.make(id, illegal="raise" if id == "stoker/DeepRM-v1" else "substitute")
            e.action_space.seed(1)
            _, info = e.reset(seed=1)
            for _ in range(20):
                _, _, ended, cut, info = e.step(e.action_space.sample(info["action_mask"]))
                if ended or cut:
                    break
        lenient = self.make("stoker/DeepRM-v1").unwrapped
        _, info = lenient.reset(seed=1)
        forbidden = int(np.argmin(info["action_mask"]))
        if not info["action_mask"][forbidden]:
            self.assertEqual(lenient.step(forbidden)[4]["substituted"], 1)

    def test_bad_input(self):
        e = self.make("stoker/CartPole-v1").unwrapped
        with self.assertRaisesRegex(ValueError, "reset first"):
            e.step(0)
        e.reset(seed=1)
        for action in (np.nan, 2, 0.5, [0, 1]):
            with self.assertRaises(ValueError):
                e.step(action)
        e.step(np.int64(1))
        for more in ({"overrides": ["env.nosuch=1"]}, {"config": {"env": {"windows": -1}}}, {"config": "nosuch.yaml"},
                     {"illegal": "maybe"}, {"split": "some"}, {"config": {"env": {"windows": object()}}}, {"config": {"env": ["some"]}}):
            with self.assertRaises(Exception) as failed:
                self.make("stoker/Pricing-v1", **more)
            self.assertRegex(str(failed.exception), "nosuch|windows|maybe|some|the configuration has <object|line 1|config:1: env")
        with self.assertRaisesRegex(Exception, "no stoker|cannot be started"):
            self.make("stoker/CartPole-v1", stoker="/nosuch/stoker")

    def test_shapes_seeds_and_options(self):
        e = self.make("stoker/Sizing-v3").unwrapped
        e.reset(seed=1)
        with self.assertRaisesRegex(ValueError, r"shape \(4, 6\), want \(6, 4\)"):
            e.step(np.zeros((4, 6), np.float32))
        with self.assertRaisesRegex(ValueError, "overrides"):
            e.reset(options={"low": 0})
        v = gym.make_vec("stoker/CartPole-v1", num_envs=3, vectorization_mode="vector_entry_point")
        self.addCleanup(v.close)
        v.reset(seed=[1, None, np.int64(3)])
        for mask in (np.array([1, 0, 0]), np.array([True]), [0, 1, 2]):
            with self.assertRaisesRegex(ValueError, "reset_mask"):
                v.reset(options={"reset_mask": mask})
        for seeds in ([1], [1, 2, 3, 4], [1.5, 2, 3]):
            with self.assertRaisesRegex((ValueError, TypeError), "seeds|integer"):
                v.reset(seed=seeds)
        for env, seed in ((e, 2**64), (v, 2**64), (v, [1, 2**64, 3]), (v, [1, -1, 3])):
            with self.assertRaisesRegex(ValueError, "the seed is .*, want 0 to 18446744073709551615"):
                env.reset(seed=seed)
        e.reset(seed=2**64 - 1)
        with self.assertRaisesRegex(TypeError, "num_envs is 2.5, want a whole number"):
            gym.make_vec("stoker/CartPole-v1", num_envs=2.5, vectorization_mode="vector_entry_point")
        with self.assertRaisesRegex(ValueError, "overrides"):
            v.reset(options={"low": 0})

    def test_actions_of_agents(self):
        import stoker_rl

        try:
            p = stoker_rl.parallel_env("stoker/Sizing-v3")
        except ImportError as e:
            self.skipTest(str(e))
        self.addCleanup(p.close)
        p.reset(seed=3)
        actions = {a: np.zeros(4, np.float32) for a in p.agents}
        first = p.agents[0]
        for wrong, want in (({**actions, first: [1]}, first), ({**actions, first: 0.5}, first), ({**actions, "nobody": 0}, "nobody"),
                            ({a: x for a, x in actions.items() if a != first}, first)):
            with self.assertRaisesRegex(ValueError, want):
                p.step(wrong)
        p.step(actions)

    def test_a_configuration_and_overrides(self):
        e = self.make("stoker/Pricing-v1", config={"env": {"windows": 3}})
        e.reset(seed=1)
        steps = 1
        while not any(e.step(e.action_space.sample())[2:4]):
            steps += 1
        self.assertEqual(steps, 3)
        e = self.make("stoker/Pricing-v1", config={"env": None, "seed": np.int64(3)})
        e.reset(seed=1)
        e = self.make("stoker/Sizing-v3", config="sizing/main", overrides=["env.windows=4"])
        self.assertEqual(e.unwrapped.stoker_spec["max_steps"], 4)

    def test_a_dead_server(self):
        e = self.make("stoker/CartPole-v1").unwrapped
        e.reset(seed=1)
        os.kill(e._o.process._child.pid, signal.SIGKILL)
        e._o.process._child.wait()
        with self.assertRaisesRegex(StepServerDied, "signal 9"):
            for _ in range(3):
                e.step(0)
        first, _ = e.reset(seed=1)
        again, _ = self.make("stoker/CartPole-v1").reset(seed=1)
        np.testing.assert_array_equal(first, again)

    def test_an_interrupted_answer_is_dropped(self):
        e = self.make("stoker/CartPole-v1").unwrapped
        e.reset(seed=1)
        p, e_other = e._o.process, self.make("stoker/CartPole-v1").unwrapped

        class Interrupted:
            def __len__(self):
                return 1

            def __iter__(self):
                raise KeyboardInterrupt

            def read(self, _):
                raise KeyboardInterrupt

        for looks, pipe in ((Interrupted(), p._from), (range(0), Interrupted())):  # while it looks, and while it sleeps
            p.ready()
            kept = p._looks, p._from
            p._looks, p._from = looks, pipe
            with self.assertRaises(KeyboardInterrupt):
                e.step(0)
            p._looks, p._from = kept
        e_other.reset(seed=1)
        e_other.step(0)
        e_other.step(0)
        np.testing.assert_array_equal(e.step(1)[0], e_other.step(1)[0])

    def test_two_threads(self):
        e = self.make("stoker/CartPole-v1").unwrapped
        e.reset(seed=1)
        said = []
        with e._o.process._lock:
            t = threading.Thread(target=lambda: said.append(self.raised(e)))
            t.start()
            t.join()
        self.assertIn("two threads", said[0])
        e.step(0)

    def raised(self, e):
        try:
            e.step(0)
        except RuntimeError as x:
            return str(x)
        return ""

    def test_vectors(self):
        for mode in ("NextStep", "SameStep", "Disabled"):
            v = gym.make_vec("stoker/CartPole-v1", num_envs=3, vectorization_mode="vector_entry_point", autoreset_mode=mode)
            self.addCleanup(v.close)
            one = self.make("stoker/CartPole-v1").unwrapped
            seen, _ = v.reset(seed=4)
            np.testing.assert_array_equal(one.reset(seed=5)[0], seen[1])
            for _ in range(500):
                before = seen
                seen, reward, ended, _, info = v.step(np.zeros(3, int))
                last, _, over, _, _ = one.step(0)
                self.assertEqual(over, ended[1])
                if over:
                    break
                np.testing.assert_array_equal(last, seen[1])
            self.assertTrue(over)
            if mode == "SameStep":
                np.testing.assert_array_equal(last, info["final_obs"][1])
                self.assertFalse(np.array_equal(last, seen[1]))
            else:
                np.testing.assert_array_equal(last, seen[1])
            if mode == "NextStep":
                seen, reward, ended, _, _ = v.step(np.zeros(3, int))
                self.assertEqual((reward[1], ended[1]), (0, False))
            if mode == "Disabled":
                with self.assertRaisesRegex(ValueError, "reset_mask"):
                    v.step(np.zeros(3, int))
                others = before[0]
                seen, _ = v.reset(options={"reset_mask": np.array([False, True, False])})
                self.assertEqual(seen.shape, (3, 4))
                self.assertFalse(np.array_equal(seen[1], last))
                del others

    def test_a_list_of_seeds_fixes_later_episodes(self):
        for mode in ("NextStep", "SameStep"):
            seen = []
            for _ in range(2):
                v = gym.make_vec("stoker/CartPole-v1", num_envs=2, vectorization_mode="vector_entry_point", autoreset_mode=mode)
                self.addCleanup(v.close)
                v.reset(seed=[3, 8])
                seen.append([v.step(np.ones(2, int))[0] for _ in range(30)])  # of three episodes
            np.testing.assert_array_equal(*seen)

    def test_seeds_are_what_integers_draws(self):
        v = gym.make_vec("stoker/CartPole-v1", num_envs=3, vectorization_mode="vector_entry_point").unwrapped
        self.addCleanup(v.close)
        for bits in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937):  # MT19937 draws 32 bits at a time
            v.np_random, other = (np.random.Generator(bits(5)) for _ in range(2))
            for which in ([1, 1, 1], [0, 0, 0], [0, 1, 0]):
                v.reset(options={"reset_mask": np.array(which, bool)})
                want = other.integers(2**63, size=sum(which), dtype=np.uint64)
                np.testing.assert_array_equal(v._o.process.seeds[np.array(which, bool)], want)

    def test_forbidden_choices_are_warned_of(self):
        e = self.make("stoker/Placement-v2")
        e.action_space.seed(1)
        e.reset(seed=1)
        with self.assertWarnsRegex(UserWarning, "replaced by the first legal one"):
            while not e.step(e.action_space.sample())[4]["substituted"]:
                pass

    def test_nothing_is_left(self):
        for _ in range(20):
            e = gym.make("stoker/CartPole-v1")
            e.reset(seed=1)
            child = e.unwrapped._o.process._child
            e.close()
            self.assertIsNotNone(child.poll())
        if os.path.isdir("/proc/self/fd"):
            before = len(os.listdir("/proc/self/fd"))
            for _ in range(20):
                e = gym.make("stoker/CartPole-v1")
                e.close()
            self.assertEqual(len(os.listdir("/proc/self/fd")), before)

    @unittest.skipIf(sys.platform == "win32", "there is no fork")
    def test_a_fork_is_refused(self):
        e = self.make("stoker/CartPole-v1").unwrapped
        e.reset(seed=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            try:
                e.step(0)
            except StokerError as x:
                os._exit(0 if "another process" in str(x) else 1)
            os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        e.step(0)


@unittest.skipIf(MISSING, MISSING)
class TestAgents(unittest.TestCase):
    def test_pettingzoo(self):
        try:
            from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test
            from pettingzoo.utils.conversions import parallel_to_aec
        except ImportError as e:
            self.skipTest(str(e))
        import stoker_rl

        for id in ("stoker/Sizing-v3", "stoker/SimpleSpread-v1", "stoker/Placement-v2"):
            e = stoker_rl.parallel_env(id)
            self.addCleanup(e.close)
            parallel_api_test(e, num_cycles=50)
            api_test(parallel_to_aec(e), num_cycles=30)  # it draws actions by masks
            if id == "stoker/Placement-v2":
                with self.assertRaisesRegex(ValueError, "shows graphs"):
                    e.state()
                continue
            e.reset(seed=2)
            other = copy.deepcopy(e)
            self.addCleanup(other.close)
            acts = {a: e.action_space(a).sample() for a in e.agents}
            for p in (e, other):
                p.step(acts)
            np.testing.assert_array_equal(e.state(), other.state())
        parallel_seed_test(lambda: stoker_rl.parallel_env("stoker/SimpleSpread-v1"), num_cycles=30)

    def test_agents_as_copies(self):
        try:
            import stable_baselines3  # noqa: F401
        except ImportError as e:
            self.skipTest(str(e))
        import stoker_rl

        v = stoker_rl.SharedVecEnv("stoker/Sizing-v3", 2, overrides=["env.windows=3"])
        self.addCleanup(v.close)
        v.seed(1)
        seen = v.reset()
        self.assertEqual(seen.shape[0], 12)
        rewards = np.zeros(12)
        for step in range(3):
            before, kept = rewards, rewards.copy()
            seen, rewards, ended, infos = v.step(np.full((12, 4), (step + 1) / 4, np.float32))
            np.testing.assert_array_equal(before, kept)
            self.assertEqual((seen.shape[0], rewards.shape, bool(ended.any())), (12, (12,), step == 2))
        self.assertIn("terminal_observation", infos[0])


@unittest.skipIf(MISSING, MISSING)
class TestBaselines(unittest.TestCase):
    def test_views_are_read_only(self):
        """The server reads what it has shown, so that nobody may change it."""
        env = gym.make_vec("stoker/CartPole-v1", num_envs=2, vectorization_mode="vector_entry_point", copy=False)
        self.addCleanup(env.close)
        seen, _ = env.reset(seed=1)
        with self.assertRaises(ValueError):
            seen *= 2
        self.assertTrue(seen.copy().flags.writeable)

    def test_a_baseline_acts_as_in_stoker(self):
        import stoker_rl

        for id, name in (("stoker/DeepRM-v1", "sjf"), ("stoker/Placement-v2", "tetris"), ("stoker/Pricing-v1", "spss")):
            e, v = gym.make(id, illegal="raise"), stoker_rl.StokerVectorEnv(id, 2, illegal="raise")
            self.addCleanup(e.close)
            self.addCleanup(v.close)
            one, both = stoker_rl.baseline(name, e), stoker_rl.baseline(name, v)
            e.reset(seed=6)
            v.reset(seed=5)
            for _ in range(5):
                a, all_of_them = one.predict()[0], both.predict()[0]
                self.assertTrue(e.action_space.contains(a), a)
                np.testing.assert_array_equal(a, all_of_them[1])
                self.assertEqual(e.step(a)[1], v.step(all_of_them)[1][1])
        with tempfile.TemporaryDirectory() as folder:  # some 1,100 steps in Go and here have one sum, to the last digit
            command = [program(), "eval", "tetris", "--config", folder + "/c.yaml", "--seeds", "5-6", "--out", folder + "/out"]
            Path(folder, "c.yaml").write_text("{name: x, agent: {name: reinforce}, env: {id: stoker/Placement-v2}}")
            subprocess.run(command, capture_output=True, check=True)
            scores = [line.split(",") for line in Path(folder, "out", "scores.csv").read_text().splitlines()]
        judged = gym.make("stoker/Placement-v2", split="test", illegal="raise")
        self.addCleanup(judged.close)
        acting = stoker_rl.baseline("tetris", judged)
        for seed, want in [(int(s[2]), float(s[4])) for s in scores if s[3] == "return"]:
            judged.reset(seed=seed)
            total, over = 0.0, False
            while not over:
                _, reward, ended, cut, _ = judged.step(acting.predict()[0])
                total, over = total + reward, ended or cut
            self.assertEqual(total, want)
        for name, want in (("nosuch", "nosuch"), ("arms", "made for"), ("zoo:nosuch", "nosuch")):
            with self.assertRaisesRegex(ValueError, want):
                stoker_rl.baseline(name, e).predict()
        with self.assertRaises(TypeError):
            stoker_rl.baseline("random", gym.make("CartPole-v1"))

    def test_observations_and_graphs(self):
        import stoker_rl
        from stoker_rl.baselines import hetero_arrays

        seen = stoker_rl.observations("stoker/Pricing-v1", "1-2,9", overrides=["env.windows=3"])
        self.assertEqual(seen.shape[0], 9)
        e = gym.make("stoker/Pricing-v1", overrides=["env.windows=3"])
        self.addCleanup(e.close)
        np.testing.assert_array_equal(e.reset(seed=9)[0], seen[6])
        for seeds in ("x", []):
            with self.assertRaisesRegex(ValueError, "seeds"):
                stoker_rl.observations("stoker/Pricing-v1", seeds)
        e = gym.make("stoker/Placement-v2").unwrapped
        self.addCleanup(e.close)
        obs, _ = e.reset(seed=1)
        parts = hetero_arrays(obs, e.stoker_spec)
        for key, part in parts.items():
            if isinstance(key, tuple):
                self.assertEqual(part["edge_index"].shape[1], len(part["edge_attr"]))
                for end, of in zip(part["edge_index"], (key[0], key[2])):
                    self.assertTrue((end < len(parts[of]["x"])).all())
        self.assertGreater(sum(len(p["x"]) for k, p in parts.items() if isinstance(k, str)), 0)
        if not find_spec("torch_geometric"):
            with self.assertRaisesRegex(ImportError, "pip install"):
                stoker_rl.to_hetero(obs, e.stoker_spec)


@unittest.skipIf(MISSING, MISSING)
class TestImport(unittest.TestCase):
    def test_environments_are_known_after_import(self):
        code = "import gymnasium, stoker_rl; print(gymnasium.make('stoker/CartPole-v1').reset(seed=1)[0].shape)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout.strip(), "(4,)", done.stderr)

    def test_also_in_modules_and_scripts_of_any_name(self):
        import stoker_rl

        known = {**os.environ, "PYTHONPATH": str(Path(stoker_rl.__file__).parents[1]), "STOKER": os.path.abspath(program())}
        look = "import gymnasium, stoker_rl; print('stoker/CartPole-v1' in gymnasium.registry)"
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "mine").mkdir()
            for name, text in (("mine/__init__.py", "import stoker_rl"), ("mine/run.py", look), ("stoker.py", look)):
                (Path(folder) / name).write_text(text)
            for arguments in (["-m", "mine.run"], ["stoker.py"]):
                done = subprocess.run([sys.executable, *arguments], cwd=folder, env=known, capture_output=True, text=True, check=False)
                self.assertEqual(done.stdout.strip(), "True", done.stderr)
        known["STOKER"] = "/nosuch/stoker"
        done = subprocess.run([sys.executable, "-c", look], env=known, capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout.strip(), "False", done.stderr)
        self.assertIn("cannot be started", done.stderr)


if __name__ == "__main__":
    unittest.main()
