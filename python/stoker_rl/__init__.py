"""Policies that were trained in Python, judged by Stoker.

serve(policy)       answers `stoker eval --policy mine=cmd:python my_policy.py`
evaluate(policy, …) runs `stoker eval` for a policy of this process
export_sb3(model, vecnormalize, "x.onnx") writes a model of Stable-Baselines3 as ONNX
python -m stoker_rl.onnx is what runs ONNX files for `stoker eval --policy mine=x.onnx`
"""

from __future__ import annotations

from typing import Any

__all__ = ["evaluate", "export_sb3", "serve"]


def __getattr__(name: str) -> Any:
    # Imported when asked for: the relay of evaluate starts without NumPy.
    if name == "serve":
        from ._serve import serve as found
    elif name == "evaluate":
        from ._evaluate import evaluate as found
    elif name == "export_sb3":
        from ._export import export_sb3 as found
    else:
        raise AttributeError(name)
    return found
