"""Stoker's environments in Gymnasium and PettingZoo, and policies that were trained in Python, judged by Stoker.

gymnasium.make("stoker/Pricing-v1") and make_vec step an environment, once this package is imported
parallel_env("stoker/Sizing-v3") is one with several agents for PettingZoo
baseline("spss", env) is a baseline with predict; observations(ID, seeds) is what it sees; to_hetero(obs, spec) makes graphs
serve(policy)       answers `stoker eval --policy mine=cmd:python my_policy.py`
evaluate(policy, …) runs `stoker eval` for a policy of this process
export_sb3(model, vecnormalize, "x.onnx") writes a model of Stable-Baselines3 as ONNX
python -m stoker_rl.onnx is what runs ONNX files for `stoker eval --policy mine=x.onnx`
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_PLACES = {"evaluate": "._evaluate", "export_sb3": "._export", "serve": "._serve", "StokerEnv": ".env",
           "StokerVectorEnv": ".vector", "register": ".env", "parallel_env": ".parallel", "SharedVecEnv": ".parallel",
           "baseline": ".baselines", "observations": ".baselines", "to_hetero": ".baselines"}
__all__ = [
    "SharedVecEnv",
    "StokerEnv",
    "StokerVectorEnv",
    "baseline",
    "evaluate",
    "export_sb3",
    "observations",
    "parallel_env",
    "register",
    "serve",
    "to_hetero",
]


def __getattr__(name: str) -> Any:  # when it is asked for: the relay of evaluate starts without NumPy
    if name not in _PLACES:
        raise AttributeError(name)
    return getattr(import_module(_PLACES[name], __name__), name)


def _register() -> None:
    from ._process import StokerError
    from .env import register

    try:
        register()
    except StokerError as e:  # evaluate(stoker=…) and register(stoker) may name one later
        import warnings

        warnings.warn(f"Stoker's environments are not known to Gymnasium: {e}", stacklevel=3)


# The console script and python -m stoker_rl.… need no environments. Python has "-m" here while it looks for any module.
_runs = Path(sys.argv[0] if sys.argv else "").name
_ours = _runs == "-m" and any(a.removeprefix("-m").startswith(__name__ + ".") for a in sys.orig_argv)
if not _ours and _runs not in ("stoker", "stoker.exe") and find_spec("gymnasium"):
    _register()
