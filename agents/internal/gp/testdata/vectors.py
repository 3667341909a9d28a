"""Writes sklearn.json and sobol.json: what scikit-learn and SciPy say of small cases, for the tests of package gp.

    pip install scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6 && python vectors.py
"""
import json
import os

import numpy as np
import scipy
import sklearn
from scipy.optimize import minimize
from scipy.stats import norm, qmc
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

here = os.path.dirname(os.path.abspath(__file__))
digits = 9  # of stored inputs, which are what the models see


def tight(objective, start, bounds):
    """L-BFGS-B until nothing more is won, so that fitted scales are good to more than 1e-6."""
    x = start
    for _ in range(5):
        x = minimize(objective, x, jac=True, bounds=bounds, method="L-BFGS-B",
                     options={"ftol": 1e-16, "gtol": 1e-11, "maxiter": 2000}).x
    return x, objective(x)[0]


def case(name, form, each, signal, length, noise, x, y, test, jitter=0.0):
    d = x.shape[1]
    start = np.full(d, length[0]) if each else length[0]
    bounds = "fixed" if length[1] == length[2] else (length[1], length[2])
    base = Matern(start, bounds, nu=2.5) if form == "matern52" else RBF(start, bounds)
    def constant(p):
        return ConstantKernel(p[0], "fixed" if p[1] == p[2] else (p[1], p[2]))
    kernel = constant(signal) * base
    alpha = noise[0]
    if noise[1] != noise[2]:
        kernel = kernel + WhiteKernel(noise[0], (noise[1], noise[2]))
        alpha = jitter
    # At the start: the likelihood and its gradient by the logarithms, in the order signal, lengths, noise.
    first = GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None).fit(x, y)
    lml, gradient = first.log_marginal_likelihood(first.kernel_.theta, eval_gradient=True)
    fitted = GaussianProcessRegressor(kernel, alpha=alpha, optimizer=tight).fit(x, y)
    k = fitted.kernel_
    has_noise = noise[1] != noise[2]
    function = k.k1 if has_noise else k
    sigma2 = function.k1.constant_value
    scales = np.broadcast_to(np.asarray(function.k2.length_scale, float), (d,))
    fitted_noise = k.k2.noise_level if has_noise else noise[0]
    # The function itself, without noise: predict with the white part left out of the new points' covariance.
    latent = GaussianProcessRegressor(function, alpha=fitted_noise, optimizer=None).fit(x, y)
    mean, cov = latent.predict(test, return_cov=True)
    _, sd = latent.predict(test, return_std=True)
    best = float(np.max(y))
    z = (mean - best) / sd
    ei = (mean - best) * norm.cdf(z) + sd * norm.pdf(z)
    loo = []
    for i in range(len(y)):
        keep = np.arange(len(y)) != i
        m, s = GaussianProcessRegressor(function, alpha=fitted_noise, optimizer=None).fit(x[keep], y[keep]).predict(
            x[i:i + 1], return_std=True)
        loo.append([float(m[0]), float(np.sqrt(s[0] ** 2 + fitted_noise))])
    return {
        "name": name, "kernel": form, "each": each, "signal": signal, "length": length, "noise": noise,
        "x": x.ravel().tolist(), "y": y.tolist(), "test": test.ravel().tolist(),
        "start_likelihood": float(lml), "start_gradient": np.atleast_1d(gradient).tolist(),
        "fitted_signal": float(sigma2), "fitted_length": scales.tolist(), "fitted_noise": float(fitted_noise),
        "fitted_likelihood": float(fitted.log_marginal_likelihood_value_),
        "mean": mean.tolist(), "sd": sd.tolist(), "covariance": cov.ravel().tolist(), "best": best, "ei": ei.tolist(),
        "leave_one_out": loo,
    }


def rounded(a):
    return np.round(a, digits)


r = np.random.default_rng(5)
cases = []
x = rounded(r.uniform(0.2, 0.8, (30, 24)))
w = r.normal(size=24)
y = rounded(np.sin(0.7 * x @ w))
y = rounded((y - y.mean()) / y.std())
cases.append(case("24 inputs, one scale, noise fixed", "matern52", False, [1, 1, 1], [0.5, 5e-2, 1e2], [1e-5] * 3, x, y,
                  rounded(r.uniform(0.2, 0.8, (6, 24)))))
x = rounded(r.uniform(0, 1, (40, 3)))
y = rounded(np.sin(5 * x[:, 0]) + x[:, 1] ** 2 + 0.1 * r.normal(size=40))
cases.append(case("3 inputs, each its scale, all fitted", "matern52", True, [1, 1e-2, 1e3], [1, 1e-2, 1e2],
                  [1e-2, 1e-6, 1], x, y, rounded(r.uniform(0, 1, (6, 3)))))
x = rounded(r.uniform(-1, 1, (25, 2)))
y = rounded(np.cos(3 * x[:, 0]) * x[:, 1] + 0.2 * r.normal(size=25))
cases.append(case("2 inputs, rbf", "rbf", False, [1, 1e-3, 1e3], [1, 1e-2, 1e2], [1e-1, 1e-6, 1], x, y,
                  rounded(r.uniform(-1, 1, (5, 2)))))
x = rounded(r.uniform(0, 1, (30, 4)))
y = rounded(np.sin(4 * x[:, 0]) + 0.05 * r.normal(size=30))
cases.append(case("an input that counts, another on its bound", "matern52", True, [1, 1e-2, 1e2], [1, 1e-2, 10],
                  [1e-2, 1e-6, 1], x, y, rounded(r.uniform(0, 1, (5, 4)))))
with open(os.path.join(here, "sklearn.json"), "w") as f:
    json.dump({"scikit-learn": sklearn.__version__, "scipy": scipy.__version__, "cases": cases}, f)
    f.write("\n")
for c in cases:
    print(c["name"], c["fitted_signal"], c["fitted_length"], c["fitted_noise"], c["fitted_likelihood"])

# Points of the first 512 dimensions, as sums, and some dimensions whole.
points = qmc.Sobol(512, scramble=False).random(64)
with open(os.path.join(here, "sobol.json"), "w") as f:
    json.dump({"scipy": scipy.__version__, "points": 64, "dimensions": 512,
               "sums": [float(np.sum(points[i] * np.arange(1, 513))) for i in range(64)],
               "column": {str(j): points[:16, j].tolist() for j in (0, 1, 2, 17, 255, 511)}}, f)
    f.write("\n")
