"""Optuna's samplers for stoker sweep --propose optuna:…: one JSON value per line, both ways (docs/farm/sweeps.md)."""
import json
import sys

import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)
NAMES = {"tpe": "TPE", "cmaes": "CmaEs", "nsga2": "NSGAII", "nsga3": "NSGAIII", "gp": "GP", "qmc": "QMC", "random": "Random"}


def suggest(trial, p):
    if p["law"] == "choice":
        return trial.suggest_categorical(p["key"], p["values"])
    if p["law"] == "int":
        return trial.suggest_int(p["key"], int(p["low"]), int(p["high"]))
    return trial.suggest_float(p["key"], p["low"], p["high"], log=p["law"] == "log")


trials = []
for line in sys.stdin:
    m = json.loads(line)
    if "study" in m:
        s = m["study"]
        sampler = getattr(optuna.samplers, NAMES[s["sampler"]] + "Sampler")(seed=s["seed"], **s["options"])
        study = optuna.create_study(sampler=sampler, directions=s["directions"])
    for _ in range(m.get("ask", 0)):
        trials.append(study.ask())
        print(json.dumps({p["key"]: suggest(trials[-1], p) for p in s["space"]}), flush=True)
    for r in m.get("tell", []):
        if len(s["directions"]) == 1:
            for step, value in r["steps"]:
                trials[r["trial"]].report(value, step)
        state = optuna.trial.TrialState[r["state"].upper()]
        study.tell(trials[r["trial"]], r["values"] if r["state"] == "complete" else None, state)
