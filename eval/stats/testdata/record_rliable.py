"""Records what rliable answers on fixed scores, for rliable_test.go.

    python3 -m venv v && v/bin/pip install rliable==1.2.0 'pandas<3' && v/bin/python record_rliable.py > rliable.json

rliable draws from NumPy's global generator: each interval is recorded for two seeds of it, so that their distance shows its own
Monte Carlo error.
"""

import importlib.metadata
import json

import numpy as np
from rliable import library, metrics

REPS = 50_000


def iqm(scores):
    return np.array([metrics.aggregate_iqm(scores)])


def interval(scores, func, seed, reps=REPS):
    np.random.seed(seed)
    _, bounds = library.get_interval_estimates({"x": scores}, func, reps=reps)
    return np.asarray(bounds["x"])[:, 0].tolist()


def resamples(scores, n, seed):
    """The indices of n stratified resamples, and the IQM of each."""
    np.random.seed(seed)
    bootstrap = library.StratifiedBootstrap(scores)
    out = []
    for _ in range(n):
        indices = bootstrap.update_indices()
        out.append({"rows": indices[0].tolist(), "iqm": float(metrics.aggregate_iqm(scores[indices]))})
    return out


def profile(scores, tau, seed):
    np.random.seed(seed)
    points, bounds = library.create_performance_profile({"x": scores}, np.array(tau), reps=2000)
    return {"tau": tau, "share": points["x"].tolist(), "lo": bounds["x"][0].tolist(), "hi": bounds["x"][1].tolist()}


def case(name, x, y, tau):
    pair = {"x": (x, y)}
    improvement = []
    for seed in (1, 2):
        np.random.seed(seed)
        _, bounds = library.get_interval_estimates(pair, lambda a, b: np.array([metrics.probability_of_improvement(a, b)]), reps=5000)
        improvement.append(np.asarray(bounds["x"])[:, 0].tolist())
    return {
        "name": name, "x": x.tolist(), "y": y.tolist(),
        "mean": float(metrics.aggregate_mean(x)), "iqm": float(metrics.aggregate_iqm(x)),
        "improvement": float(metrics.probability_of_improvement(x, y)), "improvement_intervals": improvement,
        "iqm_intervals": [interval(x, iqm, seed) for seed in (1, 2)],
        "resamples": resamples(x, 25, 3), "profile": profile(x, tau, 4),
    }


def main():
    draw = np.random.RandomState(7)
    normal = np.round(draw.normal(size=(12, 1)), 6)
    skewed = np.round(np.exp(draw.normal(size=(20, 1))), 6)
    suite = np.round(draw.normal(size=(10, 6)) + np.arange(6), 6)
    ties = draw.randint(0, 5, size=(8, 5)).astype(float)
    cases = [
        case("its own test's", np.array([[1.0, 2], [2, 2], [1, 1], [2, 1]]), np.array([[1.0, 1], [2, 2], [3, 3]]), [0.5, 1.0, 1.5, 2.0]),
        case("12 runs of one task, normal", normal, np.round(normal[:9] + 0.5, 6), [-1.0, -0.25, 0.0, 0.25, 1.0]),
        case("20 runs of one task, log-normal", skewed, np.round(skewed[:15][::-1] * 1.2, 6), [0.5, 1.0, 2.0, 4.0]),
        case("10 runs of 6 tasks", suite, np.round(suite[:7] - 0.3, 6), [0.0, 2.0, 4.0]),
        case("8 runs of 5 tasks, ties", ties, ties[::2] + 1, [0.0, 1.0, 2.0, 3.0]),
    ]
    print(json.dumps({"rliable": importlib.metadata.version("rliable"), "numpy": np.__version__, "cases": cases}))


if __name__ == "__main__":
    main()
