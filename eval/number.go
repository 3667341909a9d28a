package eval

import "github.com/stoker-rl/stoker/eval/table"

// Number is a number that may be missing: JSON cannot write NaN or an infinity, so it becomes null.
type Number = table.Number
