"""JAX/XLA peer of PPO on our Sizing environment, with the settings of configs/sizing/faasconf.yaml.

16 copies, six agents that share one policy and one value of [128, 128] tanh units, Gaussian actions, rollouts of 64 steps, 8 minibatches,
6 epochs, rate 3e-4 annealed, gamma 0.5, lambda 0.95, gradient norm 0.5 of each network. The environment is stoker's own, stepped by
`stoker step-server` through memory that both processes share (python/stoker_rl, on PYTHONPATH; STOKER names the binary). A call
of XLA normalises observations and acts for all copies; one call is a whole update. Prints environment steps a second after
compiling, as `stoker train` counts them, the share of time in the environment, acting and updating, and the mean return of the
last 20 % of the training's episodes and of its last 100.

    STOKER=bin/stoker PYTHONPATH=python python jax_ppo_sizing.py --steps 65536 [--config configs/sizing/faasconf.yaml] [--seed 1]
"""
import argparse, json, os, time
ap = argparse.ArgumentParser()
ap.add_argument('--config', default=os.path.join(os.path.dirname(__file__), '../../configs/sizing/faasconf.yaml'))
ap.add_argument('--steps', type=int, default=65536, help='a multiple of 1,024')
ap.add_argument('--threads', type=int, default=2)
ap.add_argument('--seed', type=int, default=1)
o = ap.parse_args()
N, T, M, E, G, L, EPS, RATE, BOUND = 16, 64, 8, 6, .5, .95, .2, 3e-4, 10.
U = o.steps // (N * T)
if o.steps % (N * T) or not U:
    raise SystemExit(f'--steps is {o.steps}, want a multiple of {N * T}')
os.environ['JAX_PLATFORMS'] = 'cpu'
os.environ['XLA_FLAGS'] = f'--xla_cpu_multi_thread_eigen={str(o.threads > 1).lower()}'
if o.threads == 1:
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
import numpy as np, jax, jax.numpy as jnp
from stoker_rl.vector import StokerVectorEnv
env = StokerVectorEnv('stoker/Sizing-v3', N, config=o.config, autoreset_mode='SameStep', copy=False, workers=o.threads)
_, A, F = env.observation_space.shape
D = env.action_space.shape[2]
LOW, HIGH = (jnp.asarray(x.reshape(N * A, D)) for x in (env.action_space.low, env.action_space.high))
R = N * A  # rows: an agent of a copy


def layers(key, out, gain):
    sizes, gains = (F, 128, 128, out), (2 ** .5, 2 ** .5, gain)
    return [(jax.nn.initializers.orthogonal(g)(k, (i, u)), jnp.zeros(u))
            for k, i, u, g in zip(jax.random.split(key, 3), sizes, sizes[1:], gains)]


def mlp(p, x):
    for w, b in p[:-1]:
        x = jnp.tanh(x @ w + b)
    return x @ p[-1][0] + p[-1][1]


def logp(p, x, u):
    z = (u - mlp(p['pi'], x)) * jnp.exp(-p['std'])
    return -(.5 * z * z + p['std'] + .5 * np.log(2 * np.pi)).sum(-1)


def learn_scale(norm, x, weight):
    """Running mean and squared differences (Chan et al., 1979), of the rows with weight 1."""
    count, mean, m2 = norm
    n = weight.sum()
    w = weight[:, None] / jnp.maximum(n, 1)
    m = (x * w).sum(0)
    s = ((x - m) ** 2 * w).sum(0) * n
    d, all = m - mean, jnp.maximum(count + n, 1)
    return count + n, mean + d * n / all, m2 + s + d * d * count * n / all


def scaled(norm, x):
    count, mean, m2 = norm
    v = m2 / jnp.maximum(count, 1)
    return jnp.clip((x - mean) * jnp.where(v > 0, jax.lax.rsqrt(v + 1e-8), 1), -BOUND, BOUND)


def act(p, norm, rollout, t, key, raw):
    """Learn the scale of what is seen, draw actions, keep the step in the rollout's arrays."""
    norm = learn_scale(norm, raw, jnp.ones(R))
    x = scaled(norm, raw)
    key, k = jax.random.split(key)
    u = mlp(p['pi'], x) + jnp.exp(p['std']) * jax.random.normal(k, (R, D))
    rollout = tuple(b.at[t].set(v) for b, v in zip(rollout, (x, u, logp(p, x, u))))
    return norm, rollout, key, LOW + (jnp.clip(u, -1, 1) + 1) / 2 * (HIGH - LOW)


def judge(p, norm, raw, ended):
    """The value of what ended episodes show last; it counts for the scale too."""
    norm = learn_scale(norm, raw, ended)
    return norm, mlp(p['v'], scaled(norm, raw))[:, 0]


def policy_loss(p, x, u, old, adv):
    r = jnp.exp(logp(p, x, u) - old)
    return -jnp.minimum(r * adv, jnp.clip(r, 1 - EPS, 1 + EPS) * adv).mean()


def adam(p, g, m, w, n, lr):
    """A step of each network, whose gradient's norm is at most 0.5: what p lists."""
    g = {k: jax.tree.map(lambda x: x * jnp.minimum(1., .5 / (jnp.sqrt(sum((y * y).sum() for y in jax.tree.leaves(v))) + 1e-6)), v)
         for k, v in g.items()}
    m = jax.tree.map(lambda m, g: .9 * m + .1 * g, m, g)
    w = jax.tree.map(lambda w, g: .999 * w + .001 * g * g, w, g)
    c1, c2 = 1 - .9 ** n, 1 - .999 ** n
    return jax.tree.map(lambda p, m, w: p - lr * (m / c1) / (jnp.sqrt(w / c2) + 1e-5), p, m, w), m, w


def update(st, key, rollout, norm, last, reward, follow, terminated, truncated, lr):
    p, m, w, n = st
    x, u, old = rollout
    v = mlp(p['v'], x)[..., 0]
    after = jnp.concatenate([v[1:], mlp(p['v'], scaled(norm, last))[None, :, 0]])

    def back(a, t):
        r, v, after, follow, terminated, truncated = t
        d = r + G * (1 - terminated) * jnp.where(truncated > 0, follow, after) - v
        a = d + G * L * (1 - terminated) * (1 - truncated) * a
        return a, a
    _, adv = jax.lax.scan(back, jnp.zeros(R), (reward, v, after, follow, terminated, truncated), reverse=True)
    flat = [b.reshape(T * R, *b.shape[2:]) for b in (x, u, old, adv, adv + v)]

    def mini(c, i):
        p, m, w, n = c
        x, u, old, adv, ret = (b[i] for b in flat)
        adv = (adv - adv.mean()) / (adv.std(ddof=1) + 1e-8)
        g = jax.grad(lambda p: policy_loss(p, x, u, old, adv) + .5 * jnp.square(mlp(p['v'], x)[:, 0] - ret).mean())(p)
        n = n + 1
        return (*adam(p, g, m, w, n, lr), n), None
    keys = jax.random.split(key, E)
    order = jax.vmap(lambda k: jax.random.permutation(k, T * R))(keys).reshape(E * M, -1)
    return jax.lax.scan(mini, (p, m, w, n), order)[0]


def begin():
    k = jax.random.split(jax.random.PRNGKey(o.seed), 3)
    p = dict(pi=layers(k[0], D, .01), v=layers(k[1], 1, 1.), std=jnp.full(D, -1.))
    z = jax.tree.map(jnp.zeros_like, p)
    return (p, z, jax.tree.map(jnp.copy, z), jnp.zeros(())), k[2]


t0 = time.perf_counter()
st, key = begin()
norm = (jnp.zeros(()), jnp.zeros(F), jnp.zeros(F))
rollout = (jnp.zeros((T, R, F)), jnp.zeros((T, R, D)), jnp.zeros((T, R)))
host = {k: np.zeros((T, R), np.float32) for k in ('reward', 'follow', 'terminated', 'truncated')}
raw = np.zeros((R, F), np.float32)
act = jax.jit(act, donate_argnums=(1, 2)).lower(st[0], norm, rollout, 0, key, raw).compile()
judge = jax.jit(judge).lower(st[0], norm, raw, np.zeros(R, np.float32)).compile()
update = jax.jit(update, donate_argnums=0).lower(st, key, rollout, norm, raw, *host.values(), 0.).compile()
spent = dict(compile=time.perf_counter() - t0, environment=0., act=0., update=0.)
clock, returns, running = time.perf_counter(), [], np.zeros(N)


def lap(what):
    global clock
    now = time.perf_counter()
    spent[what] += now - clock
    clock = now


began = clock
raw = env.reset(seed=o.seed)[0].reshape(R, F)
lap('environment')
for i in range(U):
    for t in range(T):
        norm, rollout, key, action = act(st[0], norm, rollout, t, key, raw)
        action = np.asarray(action)
        lap('act')
        seen, reward, terminated, truncated, more = env.step(action.reshape(N, A, D))
        raw = seen.reshape(R, F)
        running += reward
        ended = terminated | truncated
        lap('environment')
        host['reward'][t] = env.last_rewards.reshape(-1)
        host['terminated'][t], host['truncated'][t] = np.repeat(terminated, A), np.repeat(truncated, A)
        if ended.any():
            returns += list(running[ended])
            running[ended] = 0
            final = raw.copy().reshape(N, A, F)
            for j in np.flatnonzero(ended):
                final[j] = more['final_obs'][j]
            norm, host['follow'][t] = judge(st[0], norm, final.reshape(R, F), np.repeat(ended, A).astype(np.float32))
        lap('act')
    key, k = jax.random.split(key)
    st = jax.block_until_ready(update(st, k, rollout, norm, raw, *host.values(), RATE * (1 - i / U)))
    lap('update')
whole = clock - began
env.close()
mean = lambda x: float(np.mean(x)) if len(x) else None
print(json.dumps(dict(bench='ppo sizing', peer='jax', threads=o.threads, compile_seconds=spent.pop('compile'), steps=U * N * T,
                      steps_per_second=U * N * T / whole, **{'share_' + k: v / whole for k, v in spent.items()},
                      last_fifth=mean(returns[-(len(returns) // 5):]), last_100=mean(returns[-100:]))))
