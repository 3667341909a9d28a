package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workload"
)

// ReadLoad reads the load on an application from a file. A number is the rate of Poisson arrivals in requests a second; a
// trace's folder or file, or azure2019, is that trace as it is.
func ReadLoad(name string) (variants.Load, error) {
	if rate, err := strconv.ParseFloat(name, 64); err == nil {
		return variants.PoissonLoad(rate)
	}
	if l, ok := traceLoad(name); ok {
		return l, nil
	}
	text, err := ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return variants.Load{}, fmt.Errorf("%w; want a file with workload and platform, a trace's folder, azure2019, or a rate such as 0.05", err)
	}
	if err != nil {
		return variants.Load{}, err
	}
	return ParseLoad(name, text)
}

// traceLoad returns the load of a trace: azure2019 (the embedded sample), a folder in the publisher's format, or a file
// N_inv.csv, In-Vitro's sample of N functions.
func traceLoad(name string) (variants.Load, bool) {
	l := variants.DefaultLoad()
	if name == workload.Azure2019 {
		return l, true
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		l.Workload.Path = name
		return l, true
	}
	count, ok := strings.CutSuffix(filepath.Base(name), "_inv.csv")
	n, err := strconv.Atoi(count)
	if l.Workload.Path, l.Workload.Sample = filepath.Dir(name), n; !ok || err != nil {
		return l, false
	}
	return l, true
}

// ParseLoad is [ReadLoad] for a file already read. Source names it in errors. Keys that are left out have the values of
// [variants.DefaultLoad].
func ParseLoad(source string, text []byte) (variants.Load, error) {
	l := variants.DefaultLoad()
	if len(bytes.TrimSpace(text)) == 0 {
		return l, fmt.Errorf("%s: the file is empty, want workload or platform", source)
	}
	r := reader{lines: map[string]int{}}
	if root := r.document(text); root != nil && r.examine(root, reflect.TypeFor[variants.Load](), "") {
		if err := root.Load(&l); err != nil {
			r.problems = append(r.problems, problems(err)...)
		}
	}
	if len(r.problems) == 0 {
		var w *bounds.Error
		var field *workload.FieldError
		if err := l.Workload.Validate(); errors.As(err, &field) {
			key := "workload." + field.Field
			r.add(r.lineOf(key), "%s %s", key, field.Text)
		} else if err != nil {
			r.add(r.lineOf("workload"), "workload: %v", err)
		} else if err := l.Validate(); errors.As(err, &w) {
			r.add(r.lineOf(w.Key), "%v", w)
		} else if err != nil {
			r.add(0, "%v", err)
		}
	}
	if len(r.problems) > 0 {
		return l, &Error{source, r.problems}
	}
	return l, nil
}
