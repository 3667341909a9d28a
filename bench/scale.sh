#!/usr/bin/env bash
# scale.sh   time, memory and return of attention mean-field MADDPG, mean-field MADDPG and MADDPG on generated workflows of
#   5 to 1,000 functions. About ten minutes on an idle machine with two cores. It writes scale.jsonl and returns.csv in the
#   folder STOKER_PROOF. Each measurement is a process of its own, and the forms take turns.
#   ROUNDS (5) are the measurements of each form and size; SEEDS (1-3) and WORKLOADS (1-5) those of training and evaluation;
#   SIZES lists functions:updates; FORMS is a list of attmf, mf and maddpg. A kept window is worth 2 at every size, so the price's
#   weight in the reward falls with the number of functions: 0.5 for all of them together.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=${STOKER_PROOF:?names the folder to write in}
stoker=${STOKER:-$root/bin/stoker}
rounds=${ROUNDS:-5} seeds=${SEEDS:-1-3} workloads=${WORKLOADS:-1-5}
read -ra forms <<<"${FORMS:-attmf mf maddpg}"
read -ra sizes <<<"${SIZES:-5:2000 12:2000 50:1000 200:400 1000:100}"
cd "$root"
declare -A mix=([attmf]=attention [mf]=mean [maddpg]=joint)

for _ in $(seq "$rounds"); do
  for s in "${sizes[@]}"; do
    for form in "${forms[@]}"; do
      "$stoker" bench scale --agents "${s%:*}" --form $form --threads 1 --seconds 0.5 --json
    done
  done
done >"$out/scale.jsonl"

runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
echo functions,updates,form,policy,training_seed,workload_seed,metric,value >"$out/returns.csv"
for s in "${sizes[@]}"; do
  n=${s%:*} updates=${s#*:}
  for form in "${forms[@]}"; do
    name=scale-$n-$form
    "$stoker" train configs/sizing/scale.yaml --seeds "$seeds" --name "$name" --runs "$runs" --set env.generated.functions="$n" \
      --set agent.mix="${mix[$form]}" --set train.steps=$((100 + 4 * updates)) --set env.reward.price="$(awk "BEGIN { print 0.5 / $n }")" --set engine.threads=1
    "$stoker" eval "$runs/$name*" --seeds "$workloads" --set eval.resamples=200 --out "$runs/eval-$n-$form"
    awk -F, -v head="$n,$updates,$form" '$4 == "return" || $4 == "price" || $4 == "violated" { print head "," $0 }' "$runs/eval-$n-$form/scores.csv" >>"$out/returns.csv"
  done
done
