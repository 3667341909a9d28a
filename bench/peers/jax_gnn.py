"""JAX/XLA peer of the graph policy of `stoker bench graph`: inference and a training step, compiled whole, a program for each size.

Three node types (function, resource, invocation), four edge types (dependency, allocation, temporal, sharing), two layers of
single-head attention with skip connection, layer norm and ReLU, mean pooling per node type, a score per invocation and a value.
The training step is forward, the loss -log softmax(scores)[act] + (value - 1)^2, backward, Adam.

Forms: `sorted` (segment_max and segment_sum over edges sorted by target), `unsorted` (as drawn), `padded` (each node's edges in a
row filled up to the longest, so that forward and backward only gather) and `scan` (padded, ten training steps a call). The last
line of each size is the best of each figure. `--check` compares scores, value and gradients of the forms.

    python jax_gnn.py --edges 1000 10000 100000 1000000 --threads 2 --seconds 1 [--json]

The random graph is pyg_gnn.py's: nodes = edges / 8, of which functions 1/4, resources 1/16; edges split equally over types.
"""
import argparse, json, os, time
ap = argparse.ArgumentParser()
ap.add_argument('--edges', type=int, nargs='+', default=[1000, 10000, 100000, 1000000])
ap.add_argument('--hidden', type=int, default=64)
ap.add_argument('--features', type=int, default=16)
ap.add_argument('--forms', nargs='+', default=['sorted', 'unsorted', 'padded', 'scan'], choices=['sorted', 'unsorted', 'padded', 'scan'])
ap.add_argument('--threads', type=int, default=2)
ap.add_argument('--seconds', type=float, default=3)
ap.add_argument('--json', action='store_true')
ap.add_argument('--check', action='store_true')
o = ap.parse_args()
os.environ['JAX_PLATFORMS'] = 'cpu'
os.environ['XLA_FLAGS'] = f'--xla_cpu_multi_thread_eigen={str(o.threads > 1).lower()}'
if o.threads == 1:
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
import numpy as np, jax, jax.numpy as jnp
from functools import partial
TYPES = ('function', 'resource', 'invocation')
EDGES = dict(dependency=('function', 'function'), allocation=('invocation', 'resource'), temporal=('invocation', 'invocation'),
             sharing=('resource', 'invocation'))
UPDATED = [t for t in TYPES if any(b == t for _, b in EDGES.values())]
STEPS = 10  # of a call of the form scan


def parameters(f, h, seed=0):
    """Shapes as in nets.Graph.Parameters: one bias per node type and layer."""
    r = np.random.default_rng(seed)
    draw = lambda fan, *shape: jnp.asarray(r.uniform(-fan ** -.5, fan ** -.5, shape), jnp.float32)
    head = lambda w: [draw(w, w, h), draw(w, h), draw(h, h, 1), draw(h, 1)]
    layer = lambda: dict(
        edges={e: [draw(h, h, h), draw(h, h), draw(h, h)] for e in EDGES},
        nodes={t: [draw(h, h), jnp.ones(h), jnp.zeros(h)] for t in UPDATED})
    return dict(inp={t: [draw(f, f, h), draw(f, h)] for t in TYPES}, layers=[layer(), layer()], score=head(4 * h), value=head(3 * h))


def sizes(e):
    n = max(16, e // 8)
    s = {'function': n // 4, 'resource': max(2, n // 16)}
    return {**s, 'invocation': n - sum(s.values())}


def rows(key, n):
    """The numbers of the edges with each key, in rows filled up with -1; and the place of each edge in the rows, flat."""
    order = np.argsort(key, kind='stable')
    count = np.bincount(key, minlength=n)
    slot = np.arange(len(key)) - np.repeat(np.cumsum(count) - count, count)
    table = np.full((n, count.max()), -1)
    table[key[order], slot] = order
    place = np.empty(len(key), np.int64)
    place[order] = key[order] * count.max() + slot
    return table, place


def graph(e, f, padded, ordered, seed=1):
    r = np.random.default_rng(seed)
    n = sizes(e)
    x = {t: jnp.asarray(r.standard_normal((n[t], f)), jnp.float32) for t in TYPES}
    edges = {}
    for name, (a, b) in EDGES.items():
        src, dst = r.integers(n[a], size=e // 4), r.integers(n[b], size=e // 4)
        i = np.argsort(dst, kind='stable') if ordered else slice(None)
        edges[name] = (src[i], dst[i])
        if padded:
            into, place = rows(dst, n[b])
            out, _ = rows(src, n[a])
            edges[name] = (np.where(into < 0, 0, src[into]), into >= 0,  # by target: the sources
                           np.where(out < 0, 0, dst[out]), np.where(out < 0, 0, place[out]), out >= 0)  # by source: targets, places
        edges[name] = tuple(jnp.asarray(v if v.dtype == bool else v.astype(np.int32)) for v in edges[name])
    return x, edges


@jax.custom_vjp
def collect(alpha, h, es, src, there, dst, place, leaves):
    """Sums of the sources' rows, weighted by alpha [targets, k]. Its gradient gathers where that of a gather would scatter."""
    return jnp.einsum('nk,nkh->nh', alpha, h[src])


def collect_back(kept, g):
    alpha, h, src, dst, place, leaves = kept
    back = jnp.where(leaves, alpha.reshape(-1)[place], 0.)
    return jnp.einsum('nh,nkh->nk', g, h[src]), jnp.einsum('nk,nkh->nh', back, g[dst]), None, None, None, None, None, None


collect.defvjp(lambda alpha, h, es, src, there, dst, place, leaves:
               (collect(alpha, h, es, src, there, dst, place, leaves), (alpha, h, src, dst, place, leaves)), collect_back)


@jax.custom_vjp
def spread(es, src, place, leaves):
    """A number of each source at its edges [targets, k]."""
    return es[src]


spread.defvjp(lambda es, src, place, leaves: (es[src], (place, leaves)),
              lambda kept, g: (jnp.where(kept[1], g.reshape(-1)[kept[0]], 0.).sum(1), None, None, None))


def attend(p, a, b, edges, ordered):
    """What the targets b get from the sources a along one type of edges."""
    w, source, target = p
    h, n = a @ w, len(b)
    es, ed = h @ source, b @ (w @ target)
    if len(edges) == 5:
        src, there, dst, place, leaves = edges
        s = jax.nn.leaky_relu(spread(es, src, place, leaves) + ed[:, None], .2)
        s = jnp.where(there, s, -1e30)
        x = jnp.where(there, jnp.exp(s - jax.lax.stop_gradient(s.max(1, keepdims=True))), 0.)
        return collect(x / (x.sum(1, keepdims=True) + 1e-16), h, es, src, there, dst, place, leaves)
    src, dst = edges
    over = dict(num_segments=n, indices_are_sorted=ordered)
    s = jax.nn.leaky_relu(es[src] + ed[dst], .2)
    x = jnp.exp(s - jax.lax.stop_gradient(jax.ops.segment_max(s, dst, **over))[dst])
    return jax.ops.segment_sum(x[:, None] * h[src], dst, **over) / (jax.ops.segment_sum(x, dst, **over) + 1e-16)[:, None]


def head(p, x):
    return jax.nn.relu(x + p[1]) @ p[2] + p[3]


def forward(ordered, p, x, edges):
    x = {t: jax.nn.relu(x[t] @ p['inp'][t][0] + p['inp'][t][1]) for t in TYPES}
    for layer in p['layers']:
        y = dict(x)
        for t in UPDATED:
            got = sum(attend(layer['edges'][e], x[a], x[b], edges[e], ordered) for e, (a, b) in EDGES.items() if b == t)
            bias, gain, offset = layer['nodes'][t]
            z = x[t] + got + bias
            z = z - z.mean(1, keepdims=True)
            y[t] = jax.nn.relu(z * jax.lax.rsqrt((z * z).mean(1, keepdims=True) + 1e-5) * gain + offset)
        x = y
    g, h = jnp.concatenate([x[t].mean(0) for t in TYPES]), o.hidden
    first = p['score'][0]  # the part of the graph's vector is the same for all rows
    return head(p['score'], x['invocation'] @ first[:h] + g @ first[h:])[:, 0], head(p['value'], g @ p['value'][0])[0]


def loss(ordered, p, x, edges):
    s, v = forward(ordered, p, x, edges)
    return jax.nn.logsumexp(s) - s[len(s) // 2] + jnp.square(v - 1)


def step(ordered, st, x, edges):
    p, m, v, n = st
    g = jax.grad(partial(loss, ordered))(p, x, edges)
    n = n + 1
    m = jax.tree.map(lambda m, g: .9 * m + .1 * g, m, g)
    v = jax.tree.map(lambda v, g: .999 * v + .001 * g * g, v, g)
    c1, c2 = 1 - .9 ** n, 1 - .999 ** n
    return jax.tree.map(lambda p, m, v: p - 1e-4 * (m / c1) / (jnp.sqrt(v / c2) + 1e-8), p, m, v), m, v, n


def clock(f):
    for _ in range(2):
        f()
    t, c = time.perf_counter(), 0
    while c < 3 or time.perf_counter() - t < o.seconds:
        f(); c += 1
    return (time.perf_counter() - t) / c


def measure(form, e):
    ordered, many = form == 'sorted', form == 'scan'
    x, edges = graph(e, o.features, form in ('padded', 'scan'), ordered)
    p = parameters(o.features, o.hidden)
    z = jax.tree.map(jnp.zeros_like, p)
    st = [(p, z, jax.tree.map(jnp.copy, z), jnp.zeros(()))]
    one = partial(step, ordered)
    call = (lambda s, x, k: jax.lax.scan(lambda s, _: (one(s, x, k), None), s, None, length=STEPS)[0]) if many else one
    t = time.perf_counter()
    learn = jax.jit(call, donate_argnums=0).lower(st[0], x, edges).compile()
    infer = None if many else jax.jit(partial(forward, ordered)).lower(p, x, edges).compile()
    t = time.perf_counter() - t
    out = dict(compile_seconds=t)
    if not many:
        out['inference_seconds'] = clock(lambda: jax.block_until_ready(infer(p, x, edges)))

    def train():
        st[0] = jax.block_until_ready(learn(st[0], x, edges))
    out['step_seconds'] = clock(train) / (STEPS if many else 1)
    return out


def say(e, form, r):
    d = dict(bench='graph', peer='jax ' + form, edges=e, hidden=o.hidden, threads=o.threads, **r)
    print(json.dumps(d) if o.json else f'edges {e:8d} {form:9s} ' + '  '.join(f'{k} {v:.6g}' for k, v in r.items()), flush=True)


def check(e):
    p = parameters(o.features, o.hidden)
    print('parameters', sum(v.size for v in jax.tree.leaves(p)))
    got = {}
    for form in ('sorted', 'unsorted', 'padded'):
        x, edges = graph(e, o.features, form == 'padded', form == 'sorted')
        f = partial(loss, form == 'sorted')
        got[form] = jax.tree.leaves([forward(form == 'sorted', p, x, edges), jax.grad(f)(p, x, edges)])
        for a, b in zip(got['sorted'], got[form]):
            scale = float(jnp.abs(a).max())
            if (d := float(jnp.abs(a - b).max())) > 1e-4 * max(scale, 1e-3):
                raise SystemExit(f'{form} differs from sorted by {d} where the largest number is {scale}')
    print('forms agree at', e, 'edges')


for e in o.edges:
    if o.check:
        check(e)
        continue
    best = {}
    for form in o.forms:
        r = measure(form, e)
        say(e, form, r)
        for k in ('inference_seconds', 'step_seconds'):
            if k in r and r[k] < best.get(k, 1e9):
                best[k], best['compile_seconds'] = r[k], max(best.get('compile_seconds', 0), r['compile_seconds'])
                best['best_' + k.split('_')[0]] = form
    say(e, 'best', best) if o.json else print('best', best, flush=True)
