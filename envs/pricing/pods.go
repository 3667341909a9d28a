package pricing

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
)

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
