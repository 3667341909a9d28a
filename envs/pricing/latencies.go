package pricing

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// latencyTable is one model's measured latencies in milliseconds.
type latencyTable struct {
	model string
	at    map[int][]sharePoints // by batch, by rising share of multiprocessors
}

// sharePoints are the measurements of one share of multiprocessors, by rising quota.
type sharePoints struct {
	sm     float64
	points []quotaPoint
}

type quotaPoint struct{ quota, ms float64 }

// measurement is one entry of a file.
type measurement struct {
	batch         int
	sm, quota, ms float64
}

// maxLatencyFile bounds a file of latencies in bytes; the published ones have 5,400.
const maxLatencyFile = 1 << 20

// readLatencies reads the tables of some models of a folder, or of all, by name.
func readLatencies(dir string, models []string) ([]latencyTable, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var tables []latencyTable
	for _, e := range entries { // sorted by name
		model, ok := modelOf(e.Name())
		if e.IsDir() || !ok || len(models) > 0 && !slices.Contains(models, model) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		b, err := readFile(path, maxLatencyFile)
		if err != nil {
			return nil, err
		}
		name, rows, err := parseLatencies(b)
		if err == nil && name != model {
			err = fmt.Errorf("line %d: model_name is %q, want %q as the file's name has it",
				lineOf(b, int64(bytes.Index(b, []byte(name)))), name, model)
		}
		i := slices.IndexFunc(tables, func(t latencyTable) bool { return t.model == model })
		if i < 0 {
			i = len(tables)
			tables = append(tables, latencyTable{model, map[int][]sharePoints{}})
		}
		for _, r := range rows {
			if err == nil {
				err = tables[i].add(r)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, m := range models {
		if !slices.ContainsFunc(tables, func(t latencyTable) bool { return t.model == m }) {
			return nil, fmt.Errorf("%s has no file %s_SM.json for work.models", dir, m)
		}
	}
	if len(tables) == 0 {
		return nil, fmt.Errorf("%s has no files MODEL_SM.json", dir)
	}
	return tables, nil
}

// modelOf is the model of a file's name, MODEL_SM.json.
func modelOf(name string) (model string, ok bool) {
	base, ok := strings.CutSuffix(name, ".json")
	i := strings.LastIndexByte(base, '_')
	if !ok || i < 1 || strings.Trim(base[i+1:], "0123456789") != "" {
		return "", false
	}
	return base[:i], true
}

func readFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return b, err
}

// parseLatencies reads {"model_name": …, "profiling_result": [{"batch", "sm", "quota", "latency"}, …]}. Errors name the
// line and the field.
func parseLatencies(b []byte) (model string, rows []measurement, err error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	fail := func(at int64, err error) (string, []measurement, error) {
		return "", nil, fmt.Errorf("line %d: %w", lineOf(b, at), err)
	}
	open := func(want json.Delim, what string) error {
		t, err := dec.Token()
		if err == nil && t != want {
			err = fmt.Errorf("%s begins with %v, want %v", what, t, want)
		}
		return err
	}
	if err := open('{', "the file"); err != nil {
		return fail(dec.InputOffset(), err)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return fail(dec.InputOffset(), err)
		}
		switch key {
		case "model_name":
			if err := dec.Decode(&model); err != nil {
				return fail(dec.InputOffset(), fmt.Errorf("model_name: %w", err))
			}
		case "profiling_result":
			if err := open('[', "profiling_result"); err != nil {
				return fail(dec.InputOffset(), err)
			}
			for dec.More() {
				at := dec.InputOffset()
				r, err := parseMeasurement(dec)
				if err != nil {
					return fail(skipSpace(b, at), fmt.Errorf("profiling_result[%d].%w", len(rows), err))
				}
				rows = append(rows, r)
			}
			if _, err := dec.Token(); err != nil {
				return fail(dec.InputOffset(), err)
			}
		default:
			return fail(dec.InputOffset(), fmt.Errorf("there is a field %v, want model_name and profiling_result", key))
		}
	}
	if _, err := dec.Token(); err != nil {
		return fail(dec.InputOffset(), err)
	}
	if model == "" || len(rows) == 0 {
		return fail(int64(len(b)), errors.New("model_name or profiling_result is missing or empty"))
	}
	return model, rows, nil
}

// parseMeasurement reads one entry.
func parseMeasurement(dec *json.Decoder) (r measurement, err error) {
	var x struct {
		Batch   *int     `json:"batch"`
		SM      *float64 `json:"sm"`
		Quota   *float64 `json:"quota"`
		Latency *float64 `json:"latency"`
	}
	if err := dec.Decode(&x); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return r, fmt.Errorf("%s is a %s, want a number", kind.Field, kind.Value)
		}
		return r, fmt.Errorf("entry: %w", err)
	}
	if x.Batch == nil || *x.Batch < 1 || *x.Batch > 1<<16 {
		return r, fieldError("batch", show(x.Batch), "a whole number from 1 to 65536")
	}
	for _, f := range [...]struct {
		key  string
		x    *float64
		most float64
		what string
	}{{"sm", x.SM, 100, "percent"}, {"quota", x.Quota, 100, "percent"}, {"latency", x.Latency, 1e9, "milliseconds"}} {
		if f.x == nil || !(*f.x > 0 && *f.x <= f.most) {
			return r, fieldError(f.key, show(f.x), fmt.Sprintf("a number of %s above 0, at most %g", f.what, f.most))
		}
	}
	return measurement{*x.Batch, *x.SM, *x.Quota, *x.Latency}, nil
}

// show is a number of a file in an error, or that it isn't there.
func show[T any](x *T) any {
	if x == nil {
		return "missing"
	}
	return *x
}

// lineOf is the number of the line of an offset.
func lineOf(b []byte, at int64) int {
	return 1 + bytes.Count(b[:min(max(at, 0), int64(len(b)))], []byte("\n"))
}

// skipSpace is the offset of what comes after separators.
func skipSpace(b []byte, at int64) int64 {
	for at < int64(len(b)) && strings.IndexByte(" \t\r\n,:", b[at]) >= 0 {
		at++
	}
	return at
}

// add files a measurement.
func (t *latencyTable) add(r measurement) error {
	shares := t.at[r.batch]
	i, found := slices.BinarySearchFunc(shares, r.sm, func(s sharePoints, sm float64) int { return cmp.Compare(s.sm, sm) })
	if !found {
		shares = slices.Insert(shares, i, sharePoints{sm: r.sm})
	}
	s := &shares[i]
	j, found := slices.BinarySearchFunc(s.points, r.quota,
		func(p quotaPoint, q float64) int { return cmp.Compare(p.quota, q) })
	if found {
		return fmt.Errorf("profiling_result has batch %d, sm %g, quota %g twice", r.batch, r.sm, r.quota)
	}
	s.points = slices.Insert(s.points, j, quotaPoint{r.quota, r.ms})
	t.at[r.batch] = shares
	return nil
}

// latency is the milliseconds that a batch takes with a share of multiprocessors and of time, both in percent. The rate
// 1/latency is interpolated between measured quotas (some files lack 60 and 80) and between measured shares, because a
// share buys a rate.
func (t *latencyTable) latency(batch int, sm, quota float64) (float64, error) {
	shares := t.at[batch]
	if len(shares) == 0 {
		return 0, fieldError("batch", batch, "one that is measured for "+t.model)
	}
	low, high := shares[0].sm, shares[len(shares)-1].sm
	if !(sm >= low && sm <= high) {
		return 0, fieldError("sm", sm, fmt.Sprintf("a share of %s's measured ones, from %g to %g", t.model, low, high))
	}
	above := slices.IndexFunc(shares, func(s sharePoints) bool { return s.sm >= sm })
	rate, err := shares[above].rate(t.model, quota)
	if err != nil || shares[above].sm == sm {
		return 1 / rate, err
	}
	below, err := shares[above-1].rate(t.model, quota)
	if err != nil {
		return 0, err
	}
	return 1 / between(sm, shares[above-1].sm, shares[above].sm, below, rate), nil
}

// rate is 1/latency at a quota.
func (s *sharePoints) rate(model string, quota float64) (float64, error) {
	low, high := s.points[0].quota, s.points[len(s.points)-1].quota
	if !(quota >= low && quota <= high) {
		return math.NaN(), fieldError("quota", quota,
			fmt.Sprintf("one of %s's measured ones, from %g to %g", model, low, high))
	}
	above := slices.IndexFunc(s.points, func(p quotaPoint) bool { return p.quota >= quota })
	p := s.points[above]
	if p.quota == quota {
		return 1 / p.ms, nil
	}
	b := s.points[above-1]
	return between(quota, b.quota, p.quota, 1/b.ms, 1/p.ms), nil
}

// between interpolates linearly.
func between(x, x0, x1, y0, y1 float64) float64 {
	share := (x - x0) / (x1 - x0)
	return float64((1-share)*y0) + float64(share*y1)
}
