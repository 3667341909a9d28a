"""JAX/XLA peer of DQN on CartPole-v1 with the settings of configs/classic/cartpole-dqn.yaml: environment, replay and update are
one program.

One copy, [120, 84] ReLU network, batch 128, an update every 10 steps after the first 10,000, the target copied every 500 steps,
random choices with a probability that falls from 1 to 0.05 over half of the training. The replay is one array; random numbers are
drawn 500 steps at a time; loops have fixed lengths, so that the program has no branch on the step. Prints steps a second after
compiling, and the mean return of the last 100 training episodes.

    python jax_dqn_cartpole.py --steps 500000 [--threads 1] [--seed 1]
"""
import argparse, json, os, time
ap = argparse.ArgumentParser()
ap.add_argument('--steps', type=int, default=500_000, help='a multiple of 500 above 10,000')
ap.add_argument('--threads', type=int, default=1)
ap.add_argument('--seed', type=int, default=1)
o = ap.parse_args()
REPLAY, START, EVERY, TARGET, BATCH, GAMMA, RATE = 10_000, 10_000, 10, 500, 128, 0.99, 2.5e-4
if o.steps <= START or o.steps % TARGET:
    raise SystemExit(f'--steps is {o.steps}, want a multiple of {TARGET} above {START}')
os.environ['JAX_PLATFORMS'] = 'cpu'
os.environ['XLA_FLAGS'] = f'--xla_cpu_multi_thread_eigen={str(o.threads > 1).lower()}'
if o.threads == 1:
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
import jax, jax.numpy as jnp


def layer(key, i, u):  # PyTorch's law, as ours
    a, b = jax.random.split(key)
    draw = lambda k, shape: jax.random.uniform(k, shape, minval=-i ** -.5, maxval=i ** -.5)
    return draw(a, (i, u)), draw(b, (u,))


def q(p, x):
    for w, b in p[:-1]:
        x = jax.nn.relu(x @ w + b)
    return x @ p[-1][0] + p[-1][1]


def physics(s, a):
    x, v, h, w = s
    c, sn = jnp.cos(h), jnp.sin(h)
    m = (jnp.where(a == 1, 10., -10.) + .05 * w * w * sn) / 1.1
    ha = (9.8 * sn - c * m) / (.5 * (4 / 3 - .1 * c * c / 1.1))
    xa = m - .05 * ha * c / 1.1
    s = jnp.stack([x + .02 * v, v + .02 * xa, h + .02 * w, w + .02 * ha])
    return s, (jnp.abs(s[0]) > 2.4) | (jnp.abs(s[2]) > 12 * 2 * jnp.pi / 360)


def advance(p):
    """One step of the environment; what it gives is a row of the replay [s, s', choice, discount] and the ended episode's length."""
    def step(c, draws):
        s, t = c
        explore, choice, start = draws
        a = jax.lax.cond(explore, lambda: choice, lambda: jnp.argmax(q(p, s[None])[0]).astype(jnp.int32))
        s2, ended = physics(s, a)
        t = t + 1
        done = ended | (t >= 500)
        row = jnp.concatenate([s, s2, jnp.stack([a.astype(jnp.float32), jnp.where(ended, 0., GAMMA)])])
        return (jnp.where(done, start, s2), jnp.where(done, 0, t)), (row, jnp.where(done, t, -1))
    return step


def draws(key, first):
    """The random numbers of 500 steps."""
    k = jax.random.split(key, 5)
    epsilon = jnp.maximum(.05, 1 - .95 * (first + jnp.arange(TARGET)) / (.5 * o.steps))
    return k[4], (jax.random.uniform(k[0], (TARGET,)) < epsilon, jax.random.randint(k[1], (TARGET,), 0, 2),
                  jax.random.uniform(k[2], (TARGET, 4), minval=-.05, maxval=.05)), k[3]


def learn(p, m, v, n, target, rows):
    s, s2, a, discount = rows[:, :4], rows[:, 4:8], rows[:, 8].astype(jnp.int32), rows[:, 9]
    y = 1. + discount * q(target, s2).max(1)
    g = jax.grad(lambda p: jnp.square(jnp.take_along_axis(q(p, s), a[:, None], 1)[:, 0] - y).mean())(p)
    n = n + 1
    m = jax.tree.map(lambda m, g: .9 * m + .1 * g, m, g)
    v = jax.tree.map(lambda v, g: .999 * v + .001 * g * g, v, g)
    c1, c2 = 1 - .9 ** n, 1 - .999 ** n
    return jax.tree.map(lambda p, m, v: p - RATE * (m / c1) / (jnp.sqrt(v / c2) + 1e-8), p, m, v), m, v, n


def fill(c, first):
    """500 steps without updates."""
    p, world, replay, key = c
    key, d, _ = draws(key, first)
    world, (rows, ended) = jax.lax.scan(advance(p), world, d)
    return (p, world, jax.lax.dynamic_update_slice(replay, rows, (first % REPLAY, 0)), key), ended


def train(c, first):
    """500 steps with an update after each ten; then the target is copied."""
    p, m, v, n, target, world, replay, key = c
    key, d, k = draws(key, first)
    tens = jax.tree.map(lambda x: x.reshape(TARGET // EVERY, EVERY, *x.shape[1:]), d)
    index = jax.random.randint(k, (TARGET // EVERY, BATCH), 0, REPLAY)

    def ten(c, x):
        p, m, v, n, world, replay = c
        at, d, index = x
        world, (rows, ended) = jax.lax.scan(advance(p), world, d)
        replay = jax.lax.dynamic_update_slice(replay, rows, (at % REPLAY, 0))
        return (*learn(p, m, v, n, target, replay[index]), world, replay), ended
    at = first + EVERY * jnp.arange(TARGET // EVERY)
    (p, m, v, n, world, replay), ended = jax.lax.scan(ten, (p, m, v, n, world, replay), (at, tens, index))
    return (p, m, v, n, p, world, replay, key), ended.reshape(-1)


def run(key):
    a, b, c, d, e = jax.random.split(key, 5)
    p = [layer(a, 4, 120), layer(b, 120, 84), layer(c, 84, 2)]
    world = jax.random.uniform(d, (4,), minval=-.05, maxval=.05), jnp.int32(0)
    (_, world, replay, key), early = jax.lax.scan(fill, (p, world, jnp.zeros((REPLAY, 10)), e), jnp.arange(0, START, TARGET))
    z = jax.tree.map(jnp.zeros_like, p)
    _, late = jax.lax.scan(train, (p, z, z, jnp.zeros(()), p, world, replay, key), jnp.arange(START, o.steps, TARGET))
    return jnp.concatenate([early.reshape(-1), late.reshape(-1)])


t0 = time.perf_counter()
f = jax.jit(run).lower(jax.random.PRNGKey(o.seed)).compile()
t1 = time.perf_counter()
e = jax.block_until_ready(f(jax.random.PRNGKey(o.seed)))
t2 = time.perf_counter()
e = e[e >= 0][-100:]
print(json.dumps(dict(bench='dqn cartpole', peer='jax whole program', threads=o.threads, compile_seconds=t1 - t0,
                      steps_per_second=o.steps / (t2 - t1), last_100=float(e.mean()))))
