package report

import (
	"fmt"

	"github.com/stoker-rl/stoker/internal/lists"
)

// Axis is a direction of a [Cube]: what it is of, and how many places it has.
type Axis struct {
	Name string
	Len  int
}

// Cube is measurements along named axes, at each place one for every workload seed. Several goroutines may write to
// different places or seeds.
type Cube[T any] struct {
	axes   []Axis
	seeds  int
	values []T
}

// NewCube is a cube of zero values.
func NewCube[T any](seeds int, axes ...Axis) *Cube[T] {
	n := seeds
	for _, a := range axes {
		n *= a.Len
	}
	return &Cube[T]{axes, seeds, make([]T, n)}
}

// Seeds is the number of workload seeds.
func (c *Cube[T]) Seeds() int { return c.seeds }

// At are the measurements by seed at a place on every axis, to be read and written. It panics where a place is outside.
func (c *Cube[T]) At(places ...int) []T {
	if len(places) != len(c.axes) {
		panic(fmt.Sprintf("report: %d places on %d axes", len(places), len(c.axes)))
	}
	i := 0
	for k, a := range c.axes {
		if places[k] < 0 || places[k] >= a.Len {
			panic(fmt.Sprintf("report: %s is %d, want 0 to %d", a.Name, places[k], a.Len-1))
		}
		i = i*a.Len + places[k]
	}
	return c.values[i*c.seeds : (i+1)*c.seeds]
}

// Select is the part of the cube at one place of its first axis; it shares the measurements.
func (c *Cube[T]) Select(place int) *Cube[T] {
	n := len(c.values) / c.axes[0].Len
	return &Cube[T]{c.axes[1:], c.seeds, c.values[place*n : (place+1)*n]}
}

// Of is a quantity of the measurements at a place, by seed.
func (c *Cube[T]) Of(quantity func(*T) float64, places ...int) []float64 {
	return lists.Make(c.seeds, func(s int) float64 { return quantity(&c.At(places...)[s]) })
}

// Seed are a seed's measurements at all places, the last axis running fastest.
func (c *Cube[T]) Seed(seed int) []T {
	var out []T
	for i := seed; i < len(c.values); i += c.seeds {
		out = append(out, c.values[i])
	}
	return out
}

// Floats are whole numbers as numbers.
func Floats(x []int) []float64 { return lists.From(x, func(v int) float64 { return float64(v) }) }

// Places are the numbers of n places, from 1.
func Places(n int) []float64 { return lists.Make(n, func(i int) float64 { return float64(i + 1) }) }

// Ratio is a over b, by seed.
func Ratio(a, b []float64) []float64 {
	return lists.Make(len(a), func(s int) float64 { return a[s] / b[s] })
}

// Change is what a is beyond b in percent of b, by seed.
func Change(a, b []float64) []float64 {
	return lists.Make(len(a), func(s int) float64 { return 100 * (a[s]/b[s] - 1) })
}
