"""Writes models of Stable-Baselines3 as ONNX, as `stoker eval --policy mine=x.onnx` takes them."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from ._spaces import Kind


def export_sb3(model: Any, vecnormalize: Any, file: str | os.PathLike[str]) -> None:
    """Write the deterministic policy of a PPO, A2C, DQN, SAC, TD3 or MaskablePPO to an ONNX file.

    vecnormalize, or None, has the statistics that observations were normalised with; they are in the graph, and so is
    what predict does with an action: clipping, or scaling to the space, and what RescaleAction does, where the model has its
    environment. Policies of use_sde are written without their noise, as predict acts. The inputs are obs [batch, features],
    or [batch, agents, features], or those of a Dict by their keys, and, of MaskablePPO, mask [batch, choices]; the output is
    action.
    """
    import torch
    from gymnasium import spaces
    from gymnasium.wrappers import RescaleAction

    class Policy(torch.nn.Module):
        shift: torch.Tensor
        scale: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.policy = model.policy
            self.space = model.action_space
            self.masked = type(model).__name__ == "MaskablePPO"
            if vecnormalize is not None and vecnormalize.norm_obs:
                if parts:
                    raise ValueError("vecnormalize normalises the parts of a Dict, which is not written: want norm_obs=False")
                rms = vecnormalize.obs_rms
                shift = torch.as_tensor(rms.mean, dtype=torch.float64)
                scale = torch.as_tensor(np.sqrt(rms.var + vecnormalize.epsilon), dtype=torch.float64)
                self.register_buffer("shift", shift)
                self.register_buffer("scale", scale)
                self.clip = float(vecnormalize.clip_obs)
            else:
                self.clip = 0.0

        def forward(self, *inputs: torch.Tensor) -> Any:
            mask = inputs[-1] if self.masked else None
            obs: Any = dict(zip(parts, inputs)) if parts else inputs[0]
            if self.clip:
                obs = torch.clamp((obs.double() - self.shift) / self.scale, -self.clip, self.clip).float()
            p = self.policy
            if hasattr(p, "q_net"):  # DQN
                return p.q_net(obs).argmax(dim=1, keepdim=True).float()
            if hasattr(p, "actor"):  # SAC, TD3
                action = p.actor(obs, deterministic=True) if hasattr(p.actor, "log_std") else p.actor(obs)
            else:
                latent = p.mlp_extractor.forward_actor(p.extract_features(obs, p.pi_features_extractor))
                action = p.action_net(latent)
                if p.squash_output:  # of use_sde
                    action = torch.tanh(action)
            if not isinstance(self.space, spaces.Box):
                return self.choose(action, mask)
            action = action.reshape(-1, *self.space.shape)
            low, high = (torch.as_tensor(x, device=action.device) for x in (self.space.low, self.space.high))
            if p.squash_output:  # from (−1, 1), as unscale_action has it
                action = low + 0.5 * (action + 1.0) * (high - low)
            else:
                action = torch.maximum(torch.minimum(action, high), low)
            if rescale:
                gain, offset = (torch.as_tensor(x.reshape(self.space.shape), device=action.device) for x in rescale)
                action = action * gain + offset
            return action

        def choose(self, logits: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
            """The likeliest legal choice of each component."""
            if mask is not None:
                logits = torch.where(mask, logits, torch.full_like(logits, -1e8))
            parts = torch.split(logits, choices, dim=1)
            return torch.cat([part.argmax(dim=1, keepdim=True) for part in parts], dim=1).float()

    seen = model.observation_space
    if not isinstance(model.action_space, (spaces.Box, spaces.Discrete, spaces.MultiDiscrete)):
        raise ValueError(f"the action space is {model.action_space}, want a Box, a Discrete or a MultiDiscrete")
    parts = list(seen.spaces) if isinstance(seen, spaces.Dict) else []
    boxes = [seen[name] for name in parts] or [seen]
    if not all(isinstance(box, spaces.Box) for box in boxes):
        raise ValueError(f"the observation space is {seen}, want a Box or a Dict of them")
    env, rescale = model.get_env(), None
    if env is not None and any(env.env_is_wrapped(RescaleAction)):
        try:
            rescale = Kind(env.get_attr("stoker_spec")[0]["kinds"][0]).rescale(model.action_space)
        except AttributeError as e:
            raise ValueError(f"the model acts in {model.action_space} within RescaleAction, and its environment is none of Stoker's") from e
    act = model.action_space
    choices = [] if isinstance(act, spaces.Box) else [int(n) for n in getattr(act, "nvec", [getattr(act, "n", 0)])]
    policy, training = Policy().to(model.device), model.policy.training
    policy.eval()
    inputs = [torch.zeros((1, *box.shape), device=model.device) for box in boxes]
    names = parts or ["obs"]
    if policy.masked:
        inputs.append(torch.ones((1, sum(choices)), dtype=torch.bool, device=model.device))
        names = [*names, "mask"]
    with warnings.catch_warnings():  # dynamo, which is new, fails on the distributions of Stable-Baselines3
        warnings.simplefilter("ignore")
        torch.onnx.export(policy, tuple(inputs), os.fspath(file), input_names=names, output_names=["action"], opset_version=17,
                          dynamic_axes={n: {0: "batch"} for n in [*names, "action"]}, dynamo=False)
    model.policy.train(training)
