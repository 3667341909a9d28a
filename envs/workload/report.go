package workload

import (
	"fmt"
	"strings"
)

// Report lists what is missing in a trace and what its reader corrected. Nothing of it stops a run: the publisher's own
// files have all these defects (Azure/AzurePublicDataset issues 13, 23 and 40).
type Report struct {
	// Files read, in order.
	Files []string `json:"files"`
	// Missing names files that the folder lacks, and files or days without data in them.
	Missing []string `json:"missing"`
	// MissingDurations and MissingMemory count the selected functions without such data.
	MissingDurations int `json:"missing_durations"`
	MissingMemory    int `json:"missing_memory"`
	// RepeatedDurations and RepeatedMemory count second rows of a function or application on the same day. The reader
	// takes the row with more samples.
	RepeatedDurations int `json:"repeated_durations"`
	RepeatedMemory    int `json:"repeated_memory"`
	// NegativeDurations counts rows with negative times, which are corrected as [Durations] says.
	NegativeDurations int `json:"negative_durations"`
	// Notes describes the first defects, with file and line.
	Notes []string `json:"notes"`
}

// maxNotes is the most notes in a Report.
const maxNotes = 20

func (r *Report) note(format string, a ...any) {
	if len(r.Notes) < maxNotes {
		r.Notes = append(r.Notes, fmt.Sprintf(format, a...))
	}
}

// String lists the defects in one line. It is empty if there are none.
func (r *Report) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{r.MissingDurations, "functions without durations"},
		{r.MissingMemory, "functions without memory"},
		{r.RepeatedDurations, "repeated rows of durations"},
		{r.RepeatedMemory, "repeated rows of memory"},
		{r.NegativeDurations, "rows with negative durations"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}
