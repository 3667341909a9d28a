package variants

import (
	"math"
	"os"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
)

// profiles are the files of measured runs that were read so far.
type profiles map[string]*profile

type profile struct {
	functions []string
	samples   map[string][]memory.Sample
}

func (p profiles) read(file, key string) (*profile, error) {
	if got := p[file]; got != nil {
		return got, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, bounds.Errorf(key+".profiles", "cannot be read: %v", err)
	}
	defer f.Close()
	got := &profile{}
	if got.functions, got.samples, err = memory.Read(f); err != nil {
		return nil, bounds.Errorf(key+".profiles", "%s: %s", file, strings.TrimPrefix(err.Error(), "memory: "))
	}
	p[file] = got
	return got, nil
}

// fit fits a variant's law to its measured runs. The coefficient of variation is the root of the mean of its squares
// over the sizes, unless the variant gives one.
func (p profiles) fit(v Variant, fn *Function, key string) (memory.Law, float64, []float64, error) {
	got, err := p.read(v.Profiles, key)
	if err != nil {
		return nil, 0, nil, err
	}
	name := v.Profile
	for _, n := range []string{v.Name, fn.Name} {
		if name == "" && got.samples[n] != nil {
			name = n
		}
	}
	samples := got.samples[name]
	if samples == nil {
		if name == "" {
			name = fn.Name
		}
		return nil, 0, nil, bounds.Errorf(key+".profile", "is %q, of which %s has no runs: it has %s", name, v.Profiles,
			strings.Join(got.functions, ", "))
	}
	wrong := func(err error) (memory.Law, float64, []float64, error) {
		return nil, 0, nil, bounds.Errorf(key+".profiles", "%s, function %s: %s", v.Profiles, name,
			strings.TrimPrefix(err.Error(), "memory: "))
	}
	sizes, err := memory.Sizes(samples)
	if err != nil {
		return wrong(err)
	}
	var forms []memory.Form
	if v.Law.Form != "" {
		forms = []memory.Form{v.Law.Form}
	}
	laws, err := memory.Choose(sizes, memory.Options{SingleCore: v.Law.M, Cores: v.Law.Q}, forms...)
	if err != nil {
		return wrong(err)
	}
	cv := v.CV
	if cv == 0 {
		cv = variation(sizes)
	}
	mb := make([]float64, len(sizes))
	for i, s := range sizes {
		mb[i] = s.MB
	}
	return laws[0].Law, cv, slices.Clip(mb), nil
}

// variation returns the coefficient of variation over sizes that have more than one run, 0 where none has.
func variation(sizes []memory.Size) float64 {
	var sum, runs float64
	for _, s := range sizes {
		if s.Runs > 1 {
			n := float64(s.Runs - 1)
			sum += float64(n * float64(float64(s.SD/s.Mean)*float64(s.SD/s.Mean)))
			runs += n
		}
	}
	if runs == 0 {
		return 0
	}
	return math.Sqrt(sum / runs)
}
