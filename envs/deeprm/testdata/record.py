#!/usr/bin/env python3
"""Records episodes of DeepRM's published environment, for TestAsPublished.

usage: record.py CHECKOUT OUT [EPISODES]

CHECKOUT is a clone of github.com/hongzimao/deeprm at fa78411. Needs numpy. OUT is gzipped JSON, a list of forms:
the parameters, and for each episode the jobs as [length, demands...] by time step, the grey levels' order in
fortieths, the actions, rewards and ends, observations (a byte each: images in two-hundredths, compact ones as they are) in base64, and each
job's [arrival, finish].
"""
import base64
import gzip
import json
import random
import sys

import numpy as np

import published

checkout, out = sys.argv[1:3]
episodes = int(sys.argv[3]) if len(sys.argv) > 3 else 2


parameters, environment, _ = published.modules(checkout)


def form(repre, end, rate, visible, backlog, eager, limit):
    """Plays episodes; an eager policy chooses a place more often than it moves on."""
    p = parameters.Parameters()
    p.num_nw, p.simu_len, p.num_ex, p.new_job_rate, p.backlog_size, p.episode_max_length = visible, 50, episodes, rate, backlog, limit
    p.compute_dependent_parameters()
    env = environment.Env(p, repre=repre, end=end, seed=7)
    dice, played = random.Random(5), []
    for n in range(episodes):
        e = {
            "jobs": [[int(env.nw_len_seqs[n, i])] + [int(x) for x in env.nw_size_seqs[n, i]] for i in range(p.simu_len)],
            "greys": [round(x * p.job_num_cap) for x in env.machine.colormap],
            "actions": [], "rewards": [], "finished": None,
        }
        seen, done = [env.observe()], False
        while not done:
            a = dice.randrange(visible) if dice.random() < eager else visible
            seen_before_reset, reward, done, record = env.step(a)
            seen.append(seen_before_reset)
            e["actions"].append(a)
            e["rewards"].append(float(reward))
        e["finished"] = [[int(j.enter_time), int(j.finish_time)] for j in record.record.values()]
        scale = 200 if repre == "image" else 1
        cells = np.array([np.round(o * scale) for o in seen])
        assert np.abs(cells / scale - np.array(seen)).max() < 1e-12 and cells.max() < 256 and cells.min() >= 0
        e["seen"] = base64.b64encode(cells.astype(np.uint8).tobytes()).decode()
        played.append(e)
    return {"observation": repre, "end": end, "visible": visible, "backlog": backlog, "max_time": limit, "episodes": played}


forms = [
    form("image", "all_done", 0.7, 10, 60, 0.7, 2000),
    form("image", "all_done", 1.0, 5, 20, 0.2, 100),
    form("compact", "all_done", 0.7, 10, 60, 0.7, 2000),
    form("compact", "all_done", 0.3, 5, 60, 0.9, 2000),
    form("compact", "all_done", 1.0, 5, 20, 0.1, 400),
    form("compact", "no_new_job", 0.9, 10, 60, 0.7, 2000),
]
with open(out, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as f:
    f.write(json.dumps(forms).encode())
