"""Policies that were trained in Python, judged by Stoker.

serve(policy)       answers `stoker eval --policy mine=cmd:python my_policy.py`
evaluate(policy, …) runs `stoker eval` for a policy of this process
export_sb3(model, vecnormalize, "x.onnx") writes a model of Stable-Baselines3 as ONNX
python -m stoker_rl.onnx is what runs ONNX files for `stoker eval --policy mine=x.onnx`
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["evaluate", "export_sb3", "serve"]
_PLACES = {"evaluate": "._evaluate", "export_sb3": "._export", "serve": "._serve"}


def __getattr__(name: str) -> Any:  # when it is asked for: the relay of evaluate starts without NumPy
    if name not in _PLACES:
        raise AttributeError(name)
    return getattr(import_module(_PLACES[name], __name__), name)
