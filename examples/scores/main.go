// Command scores reads what stoker eval wrote, with nothing but the standard library: the verdicts in eval.json and the
// raw scores in scores.csv. docs/files.md lists the fields.
//
//	go run ./examples/scores runs/sizing-attmf-s1/eval
package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// evaluation has the fields of eval.json that this program uses. A number that is missing there is null.
type evaluation struct {
	Env      string   `json:"env"`
	Seeds    []uint64 `json:"seeds"`
	Policies []struct {
		Name    string                                          `json:"name"`
		Kind    string                                          `json:"kind"` // learned, heuristic or oracle
		Metrics map[string]struct{ IQM, Lo, Hi, Mean *float64 } `json:"metrics"`
	} `json:"policies"`
	Comparisons []struct {
		A, B, Metric, Scope, Verdict string
		Difference, Lo, Hi           *float64
		PHolm                        *float64 `json:"p_holm"`
	} `json:"comparisons"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: scores EVALUATION, a folder that stoker eval wrote")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(w io.Writer, folder string) error {
	text, err := os.ReadFile(filepath.Join(folder, "eval.json"))
	if err != nil {
		return err
	}
	var e evaluation
	if err := json.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("%s/eval.json: %w", folder, err)
	}
	fmt.Fprintf(w, "%s: %d policies on %d workload seeds\n", e.Env, len(e.Policies), len(e.Seeds))
	for _, c := range e.Comparisons {
		fmt.Fprintf(w, "%s against %s by %s: %s (%s)\n", c.A, c.B, c.Metric, c.Verdict, c.Scope)
	}
	return means(w, filepath.Join(folder, "scores.csv"))
}

// means prints the mean of every policy's raw scores. A row is policy, training_seed, workload_seed, metric, value.
func means(w io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	type of struct{ policy, metric string }
	sum, n := map[of]float64{}, map[of]float64{}
	var order []of
	for i, r := range rows[1:] {
		value, err := strconv.ParseFloat(r[4], 64)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, i+2, err)
		}
		k := of{r[0], r[3]}
		if n[k] == 0 {
			order = append(order, k)
		}
		sum[k], n[k] = sum[k]+value, n[k]+1
	}
	for _, k := range order {
		fmt.Fprintf(w, "%s of %s: mean %.3f of %.0f episodes\n", k.metric, k.policy, sum[k]/n[k], n[k])
	}
	return nil
}
