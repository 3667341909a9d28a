#!/bin/bash
# Everything that only a GPU can tell, in two calls (docs/gpu.md):
#   bench/gpu.sh pack DIR [PEER.py]   here: build what runs there into DIR
#   bench/gpu.sh run DIR              there: check, measure; JSON and a log into $OUT (default: DIR/out)
# PEER.py is a script that measures the same update in PyTorch, with --agents, --batch, --forms, --seconds, --device and --json. PYTHON
# (default python3) is the Python that has torch.
set -euo pipefail

pack() {
    local dir=$1 peer=${2:-} flags=(-tags libtorch -trimpath -ldflags '-s -w') library
    export CGO_ENABLED=1
    mkdir -p "$dir"
    go build "${flags[@]}" -o "$dir/stoker-torch" .
    go test -c "${flags[@]}" -o "$dir/torch.test" ./nets/torch
    go test -c "${flags[@]}" -o "$dir/engines.test" ./nets/engines
    library=$(sed -n 's/^\tgraphsLibrary = "\(.*\)"$/\1/p' nets/torch/zz_libtorch.go)
    if [ -z "$library" ]; then
        echo 'no library for CUDA graphs was built; run: make cuda' >&2
        exit 1
    fi
    cp "$library" "$dir/"
    if [ -n "$peer" ]; then cp "$peer" "$dir/peer.py"; fi
    cp bench/gpu.sh "$dir/"
    du -sh "$dir"
}

measure() {
    local dir out python=${PYTHON:-python3} failed=0 seconds=${SECONDS_EACH:-2}
    dir=$(cd "$1" && pwd)
    out=${OUT:-$dir/out}
    mkdir -p "$out"
    exec > >(tee "$out/log.txt") 2>&1
    # Libraries: torch's own folder first, then the CUDA wheels beside it.
    LD_LIBRARY_PATH=$("$python" - <<'PY'
import glob, os, torch
lib = os.path.join(os.path.dirname(torch.__file__), 'lib')
site = os.path.dirname(os.path.dirname(torch.__file__))
print(':'.join([lib] + sorted(glob.glob(os.path.join(site, 'nvidia', '*', 'lib')))))
PY
    ):${LD_LIBRARY_PATH:-}
    export LD_LIBRARY_PATH OMP_WAIT_POLICY=PASSIVE
    "$python" -c 'import torch; print("torch", torch.__version__, "cuda", torch.version.cuda, torch.cuda.get_device_name(0))'
    step() { # NAME COMMAND...: goes on where one fails
        local name=$1 start=$SECONDS
        shift
        echo "== $name"
        if "$@"; then echo "== $name: done in $((SECONDS - start)) s"; else failed=1; echo "== $name: FAILED after $((SECONDS - start)) s"; fi
    }
    step 'torch engine on the GPU' "$dir/torch.test" -test.run 'CUDA' -test.v -test.timeout 4m
    step 'against native, captured against not' "$dir/engines.test" -test.run 'TestCUDAAgreement' -device cuda:0 -test.v -test.timeout 4m
    : > "$out/attmf.jsonl"
    ours() { # GRAPH ARGUMENTS...
        local graph=$1
        shift
        STOKER_CUDA_GRAPH=$graph "$dir/stoker-torch" bench attmf --json --seconds "$seconds" "$@" |
            sed "s/^{/{\"graph\":\"$graph\",/" | tee -a "$out/attmf.jsonl"
    }
    local agents batch
    for agents in 5 12 50 200; do
        for batch in 64 1024; do
            step "$agents x $batch, graph" ours on --device cuda:0 --agents $agents --batch $batch
            step "$agents x $batch, operation by operation" ours off --device cuda:0 --agents $agents --batch $batch
            step "$agents x $batch, native" ours none --engine native --agents $agents --batch $batch
            [ ! -f "$dir/peer.py" ] ||
                step "$agents x $batch, PyTorch" peer "$python" "$dir/peer.py" $agents $batch "$seconds" "$out"
        done
    done
    exit $failed
}

# The slow form only where it is over in reasonable time.
peer() {
    local forms='stacked lean'
    [ "$3" -gt 12 ] || forms="loop $forms"
    # shellcheck disable=SC2086 # several words
    timeout 60 "$1" "$2" --json --device cuda --agents "$3" --batch "$4" --seconds "$5" --forms $forms | tee -a "$6/attmf.jsonl"
}

case "${1:-} ${2:-}" in
'pack '?*) pack "$2" "${3:-}" ;;
'run '?*) measure "$2" ;;
*) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
