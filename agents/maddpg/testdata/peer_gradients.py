"""Writes what a PyTorch update began with and the gradients that it found, for TestPeerGradients (agents/maddpg/peer_test.go).

    python peer_gradients.py torch_attmf.py OUT --form lean --agents 5 --batch 64 [--hidden 64 --keys 32]

torch_attmf.py is the script to compare with: a class per form (Stacked, Lean) with the fields actor, aatt, critic, catt, mask, batch
and the method update. OUT is a safetensors file: parameters as `actor.layer0.weight` [agents, in, out], gradients as `grad.…`. The
actor's gradients are those after the critic's step, as in the algorithm. The script's own losses are means over agents too: gradients
are multiplied by the number of agents, so that each agent's are those of its own loss, and Adam's epsilon is divided by it.
"""
import argparse, importlib.util, json, struct, torch

ap = argparse.ArgumentParser()
ap.add_argument('script')
ap.add_argument('out')
ap.add_argument('--form', default='lean')
ap.add_argument('--agents', type=int, default=5)
ap.add_argument('--batch', type=int, default=64)
ap.add_argument('--hidden', type=int, default=64)
ap.add_argument('--keys', type=int, default=32)
ap.add_argument('--double', action='store_true', help='compute in float64: what rounding does is gone')
o = ap.parse_args()
if o.double:
    torch.set_default_dtype(torch.float64)
dtype = torch.get_default_dtype()
spec = importlib.util.spec_from_file_location('peer', o.script)
peer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(peer)
peer.H, peer.K = o.hidden, o.keys
job = getattr(peer, o.form.capitalize())(o.agents, o.batch, 'cpu')
names = [f'layer{i}.{what}' for i in range(3) for what in ('weight', 'bias')] + ['query.weight', 'key.weight']
nets = {'actor': job.actor + job.aatt, 'critic': job.critic + job.catt}
tensors = {'mask': job.mask.to(dtype)}
tensors.update(zip(('s', 'a', 'r', 's2'), job.batch))
for net, params in nets.items():
    for name, p in zip(names, params):
        tensors[f'{net}.{name}'] = p.detach().clone()
kept = {}
for g in job.oc.param_groups:
    g['eps'] /= o.agents  # as gradients are
step = job.oc.step
def critic_step():
    """The critic's gradients are gone when the actor's loss has passed the critic (in Stacked they add up there)."""
    kept.update({f'grad.critic.{n}': p.grad.clone() for n, p in zip(names, nets['critic'])})
    step()
job.oc.step = critic_step
job.update()
tensors.update({k: v * o.agents for k, v in kept.items()})
tensors.update({f'grad.actor.{n}': p.grad * o.agents for n, p in zip(names, nets['actor'])})
header, at = {'__metadata__': {'peer': f'torch {torch.__version__} {o.form}' + ' in float64' * o.double, 'agents': str(o.agents), 'batch': str(o.batch),
                               'hidden': str(o.hidden), 'keys': str(o.keys)}}, 0
for k, v in tensors.items():
    tensors[k] = v = v.contiguous().to(dtype)
    header[k] = {'dtype': 'F64' if o.double else 'F32', 'shape': list(v.shape), 'data_offsets': [at, at + v.nbytes]}
    at += v.nbytes
head = json.dumps(header).encode()
head += b' ' * (-len(head) % 8)
with open(o.out, 'wb') as f:
    f.write(struct.pack('<Q', len(head)) + head)
    for v in tensors.values():
        f.write(v.numpy().tobytes())
