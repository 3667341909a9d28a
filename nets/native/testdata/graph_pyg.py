"""Records what PyTorch Geometric computes for a small heterogeneous graph policy: graph_pyg.json, for graphpyg_test.go.

    python graph_pyg.py > graph_pyg.json        (torch 2.11.0 on a CPU, torch_geometric 2.8.1)

The network is the one that stoker bench graph measures: a linear layer and ReLU per kind of node, two layers of GATConv per kind of edge,
added up, skip connection, layer norm and ReLU, mean pooling per kind, a score per invocation over [x, g] and a value over g. Parameters are
drawn in double precision and written in the order and the shapes of nets.Graph, so that GATConv's own biases are written once, as
their sum per kind of node. The loss is -log softmax(scores)[2] + (value - 1)^2.
"""
import json

import torch
from torch import nn
from torch_geometric.nn import GATConv, HeteroConv

KINDS = {'function': 5, 'resource': 3, 'invocation': 9}
EDGES = {('function', 'dependency', 'function'): 7, ('invocation', 'allocation', 'resource'): 11,
         ('invocation', 'temporal', 'invocation'): 12, ('resource', 'sharing', 'invocation'): 8}
FEATURES, HIDDEN, LAYERS = 3, 4, 2

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
into = {k: nn.Linear(FEATURES, HIDDEN) for k in KINDS}
convs = [HeteroConv({e: GATConv(HIDDEN, HIDDEN, add_self_loops=False) for e in EDGES}, aggr='sum') for _ in range(LAYERS)]
norms = [{k: nn.LayerNorm(HIDDEN) for k in KINDS} for _ in range(LAYERS)]
score = nn.Sequential(nn.Linear(4 * HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))
value = nn.Sequential(nn.Linear(3 * HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))
with torch.no_grad():
    for conv in convs:
        for c in conv.convs.values():
            c.bias.normal_(0, 0.3)
    for norm in norms:
        for n in norm.values():
            n.weight.normal_(1, 0.3)
            n.bias.normal_(0, 0.3)

x = {k: torch.randn(n, FEATURES).float().double() for k, n in KINDS.items()}
edges = {e: torch.stack([torch.randint(KINDS[e[0]], (n,)), torch.randint(KINDS[e[2]], (n,))]) for e, n in EDGES.items()}

h = {k: into[k](v).relu() for k, v in x.items()}
for conv, norm in zip(convs, norms):
    y = conv(h, edges)
    h = {k: norm[k](h[k] + y[k]).relu() for k in h}
g = torch.cat([h[k].mean(0) for k in KINDS])
scores = score(torch.cat([h['invocation'], g.expand(KINDS['invocation'], -1)], 1)).squeeze(1)
v = value(g)
loss = -torch.log_softmax(scores, 0)[2] + (v - 1).square().sum()
loss.backward()

parameters, gradients = [], []


def write(t, grad=None, turned=False):
    grad = t.grad if grad is None else grad
    for out, n in ((parameters, t.detach()), (gradients, grad)):
        out.extend((n.t() if turned else n).reshape(-1).tolist())


def linear(l):
    write(l.weight, turned=True)
    write(l.bias)


for k in KINDS:
    linear(into[k])
for conv, norm in zip(convs, norms):
    for e in EDGES:
        c = conv.convs[e]
        write(c.lin.weight, turned=True)
        write(c.att_src)
        write(c.att_dst)
    for k in KINDS:
        into_k = [conv.convs[e] for e in EDGES if e[2] == k]
        write(sum(c.bias for c in into_k), into_k[0].bias.grad)
        write(norm[k].weight)
        write(norm[k].bias)
for head in (score, value):
    linear(head[0])
    linear(head[2])

print(json.dumps({
    'versions': {'torch': torch.__version__.split('+')[0], 'torch_geometric': __import__('torch_geometric').__version__},
    'features': [x[k].reshape(-1).tolist() for k in KINDS],
    'from': [edges[e][0].tolist() for e in EDGES], 'to': [edges[e][1].tolist() for e in EDGES],
    'parameters': parameters, 'gradients': gradients,
    'embeddings': [h[k].reshape(-1).tolist() for k in KINDS], 'scores': scores.tolist(), 'value': v.item(), 'loss': loss.item(),
}))
