"""Writes problems.json: quantile regressions with their optima by HiGHS (scipy), to which solve_test.go holds Solve.

Needs numpy and scipy 1.17.1. Run: python highs.py > problems.json
"""
import json

import numpy as np
from scipy.optimize import linprog

rng = np.random.default_rng(20)
out = []
for n, k, kind in [(30, 2, "normal"), (80, 4, "tail"), (70, 6, "whole"), (90, 8, "scales"), (30, 3, "exact")]:
    x = np.round(rng.normal(size=(n, k)), 3)
    x[:, 0] = 1
    if kind == "whole":  # few different rows and whole numbers: many ties
        x[:, 1:] = rng.integers(0, 3, size=(n, k - 1))
    if kind == "scales":
        x *= np.round(10.0 ** rng.uniform(-3, 3, size=k), 6)
    beta = rng.normal(size=k)
    noise = {"normal": rng.normal(size=n), "tail": np.exp(1.5 * rng.normal(size=n)),
             "whole": rng.integers(0, 5, size=n), "scales": rng.standard_t(2, size=n), "exact": np.zeros(n)}[kind]
    y = np.round(x @ beta + noise, 6)
    for level in (0.1, 0.5, 0.9):
        # min level·1'u + (1-level)·1'v with X b + u - v = y
        c = np.concatenate([np.zeros(k), np.full(n, level), np.full(n, 1 - level)])
        a = np.hstack([x, np.eye(n), -np.eye(n)])
        r = linprog(c, A_eq=a, b_eq=y, bounds=[(None, None)] * k + [(0, None)] * (2 * n), method="highs-ds",
                    options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10})
        assert r.status == 0
        # the loss of its coefficients, not its own sum
        res = y - x @ r.x[:k]
        loss = float(np.sum(np.where(res >= 0, level * res, (level - 1) * res)))
        out.append({"kind": kind, "level": level, "columns": k, "x": x.ravel().tolist(), "y": y.tolist(), "loss": loss})
print(json.dumps(out))
