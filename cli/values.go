package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stoker-rl/stoker/configs"
)

// wants is the error of a flag's value: what is right.
type wants string

func (w wants) Error() string { return "want " + string(w) }

// countVar defines a flag for a whole number that has a least value. The default may be another.
func countVar(fl *pflag.FlagSet, to *int, name string, value, least int, usage string) {
	*to = value
	fl.Var(count{to, least}, name, usage)
}

type count struct {
	to    *int
	least int
}

func (c count) String() string {
	if c.to == nil { // the zero value, by which pflag knows defaults that need no mention
		return "0"
	}
	return strconv.Itoa(*c.to)
}

func (count) Type() string { return "int" }

func (c count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < c.least {
		return wants(fmt.Sprintf("a whole number of at least %d", c.least))
	}
	*c.to = n
	return nil
}

// countsVar defines a flag for several whole numbers of at least 1, with commas.
func countsVar(fl *pflag.FlagSet, to *[]int, name string, value []int, usage string) {
	*to = value
	fl.Var(counts{to}, name, usage)
}

type counts struct{ to *[]int }

func (c counts) String() string {
	if c.to == nil {
		return ""
	}
	var words []string
	for _, n := range *c.to {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ",")
}

func (counts) Type() string { return "ints" }

func (c counts) Set(s string) error {
	var list []int
	for word := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 {
			return wants("whole numbers of at least 1, such as 5,12")
		}
		list = append(list, n)
	}
	*c.to = list
	return nil
}

// seedsVar defines a flag for a list of seeds. A lone 0 is refused: who gives it means a number of seeds.
func seedsVar(fl *pflag.FlagSet, to *string, name, usage string) { fl.Var(seeds{to}, name, usage) }

type seeds struct{ to *string }

func (s seeds) String() string {
	if s.to == nil {
		return ""
	}
	return *s.to
}

func (seeds) Type() string { return "string" }

func (s seeds) Set(text string) error {
	if text == "" || text == "0" {
		return wants("a list of seeds, such as 1-5 or 1,2,10-12 (the seed 0 alone is 0-0)")
	}
	if _, err := configs.ParseSeeds(text); err != nil {
		return err
	}
	*s.to = text
	return nil
}
