package search

import (
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/sizing/library"
)

// Protocol says how a method is measured. It is the same for all methods of a comparison.
type Protocol struct {
	// Windows is the number of configurations that a method may try, Repetitions how often it starts again.
	Windows     int `json:"windows" range:"[1,2^20]"`
	Repetitions int `json:"repetitions" range:"[1,2^20]"`
	// Fresh is the number of windows in which the best configuration is measured again; 0 leaves that out.
	Fresh int `json:"fresh" range:"[0,2^20]"`
	// Users is the number of closed-loop users; 0 leaves it to the environment.
	Users int `json:"users" range:"[0,2^16]"`
	// Warm is the number of rows of Library that each repetition begins with, drawn without replacement.
	Warm int `json:"warm" range:"[0,2^30]"`
	// Seed names the draws of windows, of fresh windows, of warm-up rows and of methods.
	Seed uint64 `json:"seed"`
	// Library has the rows to warm up with, in the environment's layout; rows of other numbers of users are left out.
	Library []library.Row `json:"-"`
}

// Default is FaaSConf's protocol: 15 windows, three times, after 40 rows; measured again in 20 windows.
func Default() Protocol { return Protocol{Windows: 15, Repetitions: 3, Fresh: 20, Warm: 40, Seed: 1} }

// Validate reports the first wrong number.
func (p *Protocol) Validate() error {
	if err := bounds.Check(p); err != nil {
		return err
	}
	if p.Warm > 0 && len(p.rows()) == 0 {
		return bounds.Errorf("warm", "is %d, but the library has no rows of %d users; want 0, or a library with such rows",
			p.Warm, p.Users)
	}
	return nil
}

// rows are those of the library that fit.
func (p *Protocol) rows() []library.Row {
	if p.Users == 0 {
		return p.Library
	}
	return library.Users(p.Library, p.Users)
}
