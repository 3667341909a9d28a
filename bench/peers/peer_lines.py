"""Makes of comparisons (stdin, JSON lines of `stoker bench --peer-cmd --json`) the peers' own lines, once each, for `stoker bench --beside`."""
import json, re, sys
seen = set()
for line in sys.stdin:
    c = json.loads(line)
    if (c['what'], c['peer']) in seen:
        continue
    seen.add((c['what'], c['peer']))
    name, threads = re.fullmatch(r'(.*?) (\d+) threads', c['peer']).groups()
    row = dict(bench=c['what'].split()[0], peer=name, threads=int(threads), cpu=c['cpu'], cores=c['cores'])
    for key, form in (('agents', r'(\d+) agents'), ('batch', r'× (\d+)'), ('episodes', r'(\d+) episodes')):
        if found := re.search(form, c['what']):
            row[key] = int(found[1])
    row[c['figure']] = c['peer_value']
    print(json.dumps(row))
