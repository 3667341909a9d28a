package tensorboard

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Read yields the events of a file in order. An error is the last thing it yields; it wraps [ErrTorn] where the file ends
// inside a record.
func Read(path string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer f.Close()
		events(f, func(e Event, err error) bool {
			if err != nil {
				err = fmt.Errorf("event file %s: %w", path, err)
			}
			return yield(e, err)
		})
	}
}

func events(r io.Reader, yield func(Event, error) bool) {
	in := bufio.NewReader(r)
	var buf []byte
	for at := int64(0); ; {
		data, err := readRecord(in, buf)
		if errors.Is(err, io.EOF) {
			return
		}
		var e Event
		if err == nil {
			e, err = decodeEvent(data)
		}
		if err != nil {
			yield(Event{}, fmt.Errorf("byte %d: %w", at, err))
			return
		}
		if !yield(e, nil) {
			return
		}
		at += int64(recordHead + len(data) + recordTail)
		buf = data
	}
}

// Point is one number of a curve.
type Point struct {
	Step     int64
	WallTime float64 // seconds since 1970
	Value    float64
}

// Scalars reads the curves of a run's folder of event files by tag, as TensorBoard shows them: events that a resume made
// invalid are dropped, and a file that ends inside a record counts up to there. Where a file is damaged the rest of it is
// left out, and what could be read comes beside the error.
func Scalars(dir string) (map[string][]Point, error) {
	names, err := eventFiles(dir)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no event files (%s…) here", dir, filePrefix)
	}
	curves := map[string][]Point{}
	var faults []error
	for _, name := range names {
		for e, err := range Read(name) {
			if errors.Is(err, ErrTorn) {
				continue
			}
			if err != nil {
				faults = append(faults, err)
				continue
			}
			if e.Start {
				for tag, points := range curves {
					curves[tag] = slices.DeleteFunc(points, func(p Point) bool { return p.Step >= e.Step })
				}
			}
			for _, v := range e.Values {
				if v.Scalar != nil {
					curves[v.Tag] = append(curves[v.Tag], Point{e.Step, e.WallTime, float64(*v.Scalar)})
				}
			}
		}
	}
	maps.DeleteFunc(curves, func(_ string, points []Point) bool { return len(points) == 0 })
	return curves, errors.Join(faults...)
}

// eventFiles returns the event files of a folder in the order in which they were begun.
func eventFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filePrefix) && e.Type().IsRegular() {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names, nil
}
