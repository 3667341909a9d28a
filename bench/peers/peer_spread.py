"""Times a PyTorch training on simple_spread without its evaluations, as `stoker bench spread` times ours.

    python peer_spread.py torch_simple_spread.py EPISODES [SEED [THREADS]]

torch_simple_spread.py takes seed and episodes as arguments, asks for one thread and prints evaluate(False) + evaluate(True) now and then; here
the threads can be others, and evaluations cost nothing. Prints one JSON line.
"""
import io, json, sys, time, contextlib
script, episodes = sys.argv[1], int(sys.argv[2])
source = open(script).read()
what = 'evaluate(False)+evaluate(True)'
if what not in source:
    raise SystemExit(f'{script} has no {what}: its evaluations would be timed too')
source = source.replace(what, '(0.,0.,0.,0.)')
one = 'torch.set_num_threads(1)'
if one not in source:
    raise SystemExit(f'{script} has no {one}: its threads would be others than said')
if len(sys.argv) > 4:
    source = source.replace(one, f'torch.set_num_threads({int(sys.argv[4])})')
sys.argv = [script, sys.argv[3] if len(sys.argv) > 3 else '1', str(episodes)]
import numpy, torch  # their import is not the training's
space = {'__name__': '__main__'}
start = time.perf_counter()
with contextlib.redirect_stdout(io.StringIO()):
    exec(compile(source, script, 'exec'), space)
took = time.perf_counter() - start
print(json.dumps(dict(bench='spread', peer='torch', episodes=episodes, threads=torch.get_num_threads(), episodes_per_second=episodes / took)))
