#!/usr/bin/env python3
"""Steps a second of DeepRM's published environment while its own SJF decides, as one line of JSON.

usage: steps.py CHECKOUT FORM [STEPS]

CHECKOUT is a clone of github.com/hongzimao/deeprm at fa78411. FORM is what is observed after each step: image, compact, or none.
Needs numpy.
"""
import json
import sys
import time

import published

checkout, form = sys.argv[1:3]
steps = int(sys.argv[3]) if len(sys.argv) > 3 else 20000
parameters, environment, agents = published.modules(checkout)
p = parameters.Parameters()
p.num_nw, p.simu_len, p.num_ex, p.new_job_rate, p.episode_max_length = 10, 50, 100, 0.7, 2000
p.compute_dependent_parameters()
env = environment.Env(p, repre=form, end="all_done")
begun = time.perf_counter()
for _ in range(steps):
    env.step(agents.get_sjf_action(env.machine, env.job_slot))
print(json.dumps({"bench": "env", "env": "stoker/DeepRM-v1", "peer": "DeepRM, " + form, "steps_per_second": round(steps / (time.perf_counter() - begun))}))
