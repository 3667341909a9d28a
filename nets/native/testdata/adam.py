"""Records what PyTorch's Adam makes of gradients that a formula gives: python3 adam.py > adam.json

Only parameters at some steps are stored. The gradients are whole numbers over a power of two, so that Go and Python,
float32 and float64, compute the same ones to the last bit; see gradient.
"""
import json

import torch

GROUPS, SIZE, STEPS = 2, 14, 1000
KEPT = [1, 2, 3, 10, 30, 100, 300, 500, 501, 600, 800, 1000]

CASES = [
    {"name": "plain", "rate": 1e-3},
    {"name": "clipped", "rate": 1e-3, "clip": 0.5},
    {"name": "fast, rate changed at step 501", "rate": 1e-2, "later_rate": 1e-3},
    {"name": "other factors, clipped now and then", "rate": 1e-3, "beta1": 0.5, "beta2": 0.95, "epsilon": 1e-5, "clip": 1.0},
]


def gradient(t, i):
    """Gradient of parameter i at step t, from 1: of many magnitudes; some are always 0, some almost."""
    if i % 13 == 3:
        return 0.0
    k = (7919 * t + 104729 * i + 31 * t * t * (i + 1)) % 65537 - 32768
    return k / 2.0**15 * 2.0 ** -(5 * i % 11) * (2.0**-30 if i % 13 == 5 else 1.0)


def start(i):
    return (12289 * i % 65537 - 32768) / 2.0**15


def run(case, dtype):
    # A group is a parameter of its own: PyTorch clips what it is given together.
    groups = [
        torch.tensor([start(g * SIZE + i) for i in range(SIZE)], dtype=dtype, requires_grad=True) for g in range(GROUPS)
    ]
    adam = torch.optim.Adam(
        groups,
        lr=case["rate"],
        betas=(case.get("beta1", 0.9), case.get("beta2", 0.999)),
        eps=case.get("epsilon", 1e-8),
        foreach=False,
        fused=False,
    )
    kept = []
    for t in range(1, STEPS + 1):
        if t == 501 and "later_rate" in case:
            adam.param_groups[0]["lr"] = case["later_rate"]
        for g, p in enumerate(groups):
            p.grad = torch.tensor([gradient(t, g * SIZE + i) for i in range(SIZE)], dtype=dtype)
            if "clip" in case:
                torch.nn.utils.clip_grad_norm_([p], case["clip"], foreach=False)
        adam.step()
        if t in KEPT:
            kept.append({"step": t, "params": [x for p in groups for x in p.tolist()]})
    state = [adam.state[p] for p in groups]
    return {
        "case": case,
        "dtype": str(dtype).removeprefix("torch."),
        "kept": kept,
        "first_moment": [x for s in state for x in s["exp_avg"].tolist()],
        "second_moment": [x for s in state for x in s["exp_avg_sq"].tolist()],
    }


torch.set_num_threads(1)
runs = [run(c, d) for c in CASES for d in (torch.float32, torch.float64)]
lines = ",\n".join(json.dumps(r, separators=(",", ":")) for r in runs)
print(f'{{"torch":"{torch.__version__}","groups":{GROUPS},"size":{SIZE},"runs":[\n{lines}\n]}}')
