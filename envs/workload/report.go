package workload

import (
	"fmt"
	"strings"
)

// Report says what reading a trace found missing or mended. None of it stops a run: the publisher's own files have all
// of it (Azure/AzurePublicDataset issues 13, 23 and 40).
type Report struct {
	// Files read, in order.
	Files []string `json:"files"`
	// MissingDurations and MissingMemory count the functions kept for which nothing is known.
	MissingDurations int `json:"missing_durations"`
	MissingMemory    int `json:"missing_memory"`
	// RepeatedDurations and RepeatedMemory count rows for a function or application that had one on that day already; the
	// row with more samples is kept.
	RepeatedDurations int `json:"repeated_durations"`
	RepeatedMemory    int `json:"repeated_memory"`
	// NegativeDurations counts rows with negative times, mended as [Durations] says.
	NegativeDurations int `json:"negative_durations"`
	// Notes names the first places, with file and line.
	Notes []string `json:"notes"`
}

// maxNotes bounds Report.Notes.
const maxNotes = 20

func (r *Report) note(format string, a ...any) {
	if len(r.Notes) < maxNotes {
		r.Notes = append(r.Notes, fmt.Sprintf(format, a...))
	}
}

// String says in a line what was missing or mended, or nothing where all was there.
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
