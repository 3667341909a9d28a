package pricing

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
)

// Work is what real measurements say of jobs, in place of the tiers' constants.
type Work struct {
	// Service is profile (the tiers' service and lengths) or measured (a job is so many inferences of a model on a
	// vGPU's share of a GPU).
	Service string `yaml:"service" json:"service" oneof:"profile|measured"`
	// Latencies is a folder of measured latencies in HAS-GPU's format, a file MODEL_SM.json for each model and share of
	// the GPU's multiprocessors, for service: measured.
	Latencies string `yaml:"latencies" json:"latencies"`
	// Models selects models of the folder; empty takes all, by name. A tier's functions get them in turn.
	Models []string `yaml:"models" json:"models"`
	// Inferences is how many inferences a job is, in batches of Batch.
	Inferences float64 `yaml:"inferences" json:"inferences" range:"[1,1e9]"`
	Batch      int     `yaml:"batch" json:"batch" range:"[1,2^16]"`
	// SM is a vGPU's share of a GPU's multiprocessors in percent; 0 is that of one of layout.gpu equal parts. Quota is
	// its share of time in percent. Shares between measured ones are interpolated.
	SM    float64 `yaml:"sm" json:"sm" range:"[0,100]"`
	Quota float64 `yaml:"quota" json:"quota" range:"[1,100]"`
	// Width is single (a request is a job on one vGPU) or pods (a request asks for as many vGPUs as one of the
	// cluster's pods does, and is as many jobs that arrive together). The mean load in jobs stays.
	Width string `yaml:"width" json:"width" oneof:"single|pods"`
	// Pods is a table in the format of Alibaba's GPU cluster trace of 2023, with the columns num_gpu and gpu_milli, for
	// width: pods.
	Pods string `yaml:"pods" json:"pods"`
}

// Where jobs' work comes from, as [Work] names it.
const (
	ProfileService  = "profile"
	MeasuredService = "measured"
	SingleWidth     = "single"
	PodsWidth       = "pods"
)

// defaultWork returns the paper profile's constants, and for measured ones a number of inferences that takes ResNet-50
// 1.14 slots of a minute on a quarter of a V100: the profile's scale.
func defaultWork() Work {
	return Work{Service: ProfileService, Inferences: 20000, Batch: 8, Quota: 100, Width: SingleWidth}
}

func (w *Work) validate() error {
	if w.Service == MeasuredService && w.Latencies == "" {
		return fieldError("work.latencies", `""`, "a folder of measured latencies where work.service is measured")
	}
	if w.Width == PodsWidth && w.Pods == "" {
		return fieldError("work.pods", `""`, "a table of pods where work.width is pods")
	}
	return nil
}

// measured is what files say of jobs.
type measured struct {
	slots []float64 // mean service of each model in slots, nil with the profile's constants
	width law       // of requests in vGPUs, nil where each is one
	mean  float64   // of it
}

// openWork reads the files that a configuration names.
func openWork(c *Config) (measured, error) {
	m := measured{mean: 1}
	w := &c.Work
	if w.Service == MeasuredService {
		tables, err := readLatencies(w.Latencies, w.Models)
		if err != nil {
			return m, fmt.Errorf("work.latencies: %w", err)
		}
		sm := w.SM
		if sm == 0 {
			sm = 100 / float64(c.Layout.GPU)
		}
		for i := range tables {
			ms, err := tables[i].latency(w.Batch, sm, w.Quota)
			if err != nil {
				return m, fmt.Errorf("work.%w", err)
			}
			slots := w.Inferences / float64(w.Batch) * ms / 1000 / c.SlotSeconds
			if slots > maxLength {
				return m, fieldError("work.inferences", w.Inferences,
					fmt.Sprintf("at most %d slots of %g s; %s takes %.4g", maxLength, c.SlotSeconds, tables[i].model, slots))
			}
			m.slots = append(m.slots, slots)
		}
	}
	if w.Width == PodsWidth {
		sizes, err := readPods(w.Pods, c.Layout.GPU)
		if err != nil {
			return m, fmt.Errorf("work.pods: %w", err)
		}
		m.width, m.mean = cumulate(sizes)
	}
	return m, nil
}

// constantLaw is a law of whole slots, at least 1, with a mean: the whole number below or the next one.
func constantLaw(mean float64) law {
	mean = max(mean, 1)
	whole := math.Floor(mean)
	l := make(law, int(whole), int(whole)+1)
	l[len(l)-1] = 1 - (mean - whole)
	if mean > whole {
		l = append(l, 1)
	}
	return l
}

// readPods counts the pods of a table by the vGPUs that they ask for: entry i is those of i+1. Pods without a GPU are
// left out.
func readPods(path string, perGPU int) ([]float64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sizes, err := parsePods(f, perGPU)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return sizes, nil
}

// parsePods reads a table whose first line names its columns. A pod that asks for gpu_milli thousandths of each of
// num_gpu GPUs needs so many vGPUs, rounded up: a vGPU is not divided.
func parsePods(r io.Reader, perGPU int) ([]float64, error) {
	t := csv.NewReader(r)
	t.ReuseRecord = true
	head, err := t.Read()
	if err != nil {
		return nil, fmt.Errorf("line 1: %w, want names of columns, num_gpu and gpu_milli among them", err)
	}
	columns := [...]string{"num_gpu", "gpu_milli"}
	limits := [...]int{64, 1000}
	var at [len(columns)]int
	for i, name := range columns {
		if at[i] = slices.Index(head, name); at[i] < 0 {
			return nil, fmt.Errorf("line 1: there is no column %s", name)
		}
	}
	var sizes []float64
	for {
		row, err := t.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err // names its line
		}
		var x [len(columns)]int
		for i, name := range columns {
			n, err := strconv.Atoi(row[at[i]])
			if err != nil || n < 0 || n > limits[i] {
				line, _ := t.FieldPos(at[i])
				return nil, fmt.Errorf("line %d: %s is %q, want a whole number from 0 to %d", line, name, row[at[i]], limits[i])
			}
			x[i] = n
		}
		n := (x[0]*x[1]*perGPU + 999) / 1000
		if n == 0 {
			continue
		}
		for len(sizes) < n {
			sizes = append(sizes, 0)
		}
		sizes[n-1]++
	}
	if len(sizes) == 0 {
		return nil, errors.New("no pod asks for a GPU (num_gpu, gpu_milli)")
	}
	return sizes, nil
}
