"""Whether workers hang, and what closed environments leave: python processes.py [TRIALS [OPENED]]. The variable STOKER names the program.

Trials make two workers that are forked or started anew, step them, and end them, while the process that makes them steps an
environment of its own. A trial that takes a minute has hung, and its processes are ended. Then one process opens, resets and
closes environments. Needs /proc; rows of SubprocVecEnv need stable-baselines3.
"""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

LIMIT = 60  # seconds for a trial
WORKERS = 2
ID = "stoker/CartPole-v1"


def servers() -> int:
    """How many step servers there are of the program under test."""
    from stoker_rl._process import program

    wanted, found = os.fsencode(program()), 0
    for p in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += p.read_bytes().split(b"\0")[:2] == [wanted, b"step-server"]
        except OSError:  # it is gone
            pass
    return found


def make():
    import gymnasium

    import stoker_rl  # noqa: F401

    return gymnasium.make(ID)


def trial(kind: str, method: str) -> None:
    import numpy as np

    if kind == "AsyncVectorEnv":
        from gymnasium.vector import AsyncVectorEnv

        vector = AsyncVectorEnv([make] * WORKERS, context=method)
        vector.reset(seed=1)
    else:
        from stable_baselines3.common.vec_env import SubprocVecEnv

        vector = SubprocVecEnv([make] * WORKERS, start_method=method)
        vector.reset()
    for _ in range(20):
        vector.step(np.ones(WORKERS, int))
    vector.close()


def trials(kind: str, method: str, n: int) -> None:
    """Say ok after each trial."""
    own = make()
    own.reset(seed=1)
    for i in range(n):
        trial(kind, method)
        if own.step(i % 2)[2]:
            own.reset(seed=i)
        print("ok", flush=True)
    own.close()


def watched(kind: str, method: str, n: int) -> None:
    """Run the trials in processes of their own, and a new one where one hangs or fails."""
    done, hung, failed, took, before = 0, 0, 0, [], servers()
    while done + hung + failed < n:
        left = n - done - hung - failed
        p = subprocess.Popen([sys.executable, __file__, "trials", kind, method, str(left)], stdout=subprocess.PIPE,
                             bufsize=0, start_new_session=True)
        start = time.perf_counter()
        while True:
            if not select.select([p.stdout], [], [], LIMIT)[0]:
                hung += 1
                break
            if p.stdout.readline() != b"ok\n":
                failed += p.wait(LIMIT) != 0
                break
            done += 1
            took.append(time.perf_counter() - start)
            start = time.perf_counter()
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()
    deadline = time.perf_counter() + 5  # a server ends when it reads that its client is gone
    while servers() > before and time.perf_counter() < deadline:
        time.sleep(0.1)
    print(f"| {kind} | {method} | {n} | {hung} | {failed} | {max(took, default=0):.1f} | {max(0, servers() - before)} |", flush=True)


def opened(n: int) -> None:
    """Open, reset and close environments, one after another."""
    import gymnasium

    import stoker_rl  # noqa: F401

    heads = "opened and closed", "descriptors", "threads", "Python's threads", "children", "step servers", "MB"
    print("\n| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    before = servers()
    for i in range(n + 1):
        if i % max(1, n // 4) == 0:
            memory = next(s for s in Path("/proc/self/status").read_text().splitlines() if s.startswith("VmRSS"))
            children = Path("/proc/self/task", str(os.getpid()), "children").read_text().split()
            print(f"| {i:,} | {len(os.listdir('/proc/self/fd'))} | {len(os.listdir('/proc/self/task'))} | "
                  f"{threading.active_count()} | {len(children)} | {max(0, servers() - before)} | "
                  f"{int(memory.split()[1]) // 1024} |", flush=True)
        e = gymnasium.make(ID)
        e.reset(seed=i)
        e.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["trials"]:
        trials(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        count = [int(a) for a in sys.argv[1:]] + [100, 10_000][len(sys.argv) - 1:]
        heads = "workers of", "started by", "trials", "hung", "failed", "longest, s", "servers left"
        print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
        kinds = ["AsyncVectorEnv", *(["SubprocVecEnv"] if find_spec("stable_baselines3") else [])] if count[0] else []
        for kind in kinds:
            for method in ("fork", "forkserver", "spawn"):
                watched(kind, method, count[0])
        opened(count[1])
