package workload

// Trace is invocations per minute of a set of functions, with what is known of their durations and memory. It does not
// change once read; cuts and selections share its numbers.
type Trace struct {
	// Name says where the trace comes from: a folder, or the embedded sample.
	Name string
	// Minutes is the number of minutes.
	Minutes int
	// Functions in the order of the files.
	Functions []Function
	// Report says what reading found missing or mended.
	Report Report
}

// Function is one function of a trace.
type Function struct {
	// Owner, App and Name are the publisher's hashes. Trigger is empty in In-Vitro's samples.
	Owner, App, Name, Trigger string
	// Counts holds the invocations of each minute.
	Counts []uint32
	// Duration of an execution in milliseconds, cold start excluded. Samples is 0 where it is not known.
	Duration Duration
	// Memory that the function's application had allocated, in MB. Samples is 0 where it is not known.
	Memory Memory
}

// Duration summarises a function's execution times in milliseconds. The percentiles are of averages over 30 s, weighted by
// invocations, not of single executions (the publisher's note 7).
type Duration struct {
	Samples               uint64
	Average               float64
	Minimum, Maximum      float64
	P0, P1, P25, P50, P75 float64
	P99, P100             float64
}

// Memory summarises an application's allocated memory in MB, averaged by the minute.
type Memory struct {
	Samples               uint64
	Average               float64
	P1, P5, P25, P50, P75 float64
	P95, P99, P100        float64
}

// Total returns the number of invocations.
func (t *Trace) Total() uint64 { return 0 }

// PerMinute appends the invocations of all functions in each minute.
func (t *Trace) PerMinute(dst []uint64) []uint64 { return dst }

// Cut returns the minutes from inclusive to exclusive.
func (t *Trace) Cut(r Range) (*Trace, error) { return nil, nil }

// Split cuts the trace in two by time: the first share of its minutes, and the rest.
func (t *Trace) Split(train float64) (first, rest *Trace, err error) { return nil, nil, nil }

// Select returns the functions that a filter keeps, in the trace's order.
func (t *Trace) Select(f Filter) (*Trace, error) { return nil, nil }

// Stats returns figures of the total per minute.
func (t *Trace) Stats() Stats { return Stats{} }

// Stats describes a series of counts per minute.
type Stats struct {
	Functions  int     `json:"functions"`
	Minutes    int     `json:"minutes"`
	Total      uint64  `json:"total"`
	Mean       float64 `json:"mean"`
	Peak       uint64  `json:"peak"`
	CV         float64 `json:"cv"`
	Dispersion float64 `json:"dispersion"`
}

// Report says what reading a trace found missing or mended.
type Report struct {
	Files                             []string
	MissingDurations, MissingMemory   int
	RepeatedDurations, RepeatedMemory int
	NegativeDurations                 int
	Notes                             []string
}

// Embedded returns the trace that the program carries: In-Vitro's 50-function sample of Azure Functions 2019, one day.
func Embedded() (*Trace, error) { return nil, nil }

// ReadOptions narrow what ReadTrace keeps.
type ReadOptions struct {
	// Sample and Days are as in Config.
	Sample int
	Days   []int
	// Total keeps only one function, the sum of all: reading the whole trace then needs little memory.
	Total bool
	// Functions keeps only what it selects.
	Functions Filter
}

// ReadTrace reads a folder in the publisher's format.
func ReadTrace(dir string, o ReadOptions) (*Trace, error) { return nil, nil }

// Goodness says how near draws are to the trace they are calibrated to.
type Goodness struct {
	Streams []StreamGoodness `json:"streams"`
}

// StreamGoodness compares one stream.
type StreamGoodness struct {
	Stream     int        `json:"stream"`
	Mean       [2]float64 `json:"mean"`
	CV         [2]float64 `json:"cv"`
	Dispersion [2]float64 `json:"dispersion"`
	KSCounts   float64    `json:"ks_counts"`
	KSGaps     float64    `json:"ks_gaps"`
}
