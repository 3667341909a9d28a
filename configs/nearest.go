package configs

import "strings"

// Nearest returns the name that key was probably meant to be, "" where none is near. It is the one from which key
// differs by the fewest edits, where those are at most a third of key's length and one: letters added, left out,
// replaced, or swapped with their neighbour. Upper case, what comes before the last slash, and a version at the end do
// not count: cartpole is near to stoker/CartPole-v1, and mean_rewrd to eval/mean_reward.
func Nearest(key string, names []string) string {
	best, least := "", len(key)/3+2
	for _, n := range names {
		if d := edits(strings.ToLower(key), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	short := bare(key)
	least = min(least, len(short)/3+2)
	for _, n := range names {
		if d := edits(short, bare(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// bare is a name in lower case, without maker and version.
func bare(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	if i := strings.LastIndex(name, "-v"); i > 0 {
		name = name[:i]
	}
	return strings.ToLower(name)
}

// edits is the Damerau-Levenshtein distance in which no part is edited twice (optimal string alignment).
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
