package pricing

import "fmt"

// none is no index. The neighbour beyond a list's end is a negative number too.
const none = -1

// list is a doubly linked ring of items of an arena, with a head entry of its own. So insertion and removal have no
// special case at the ends: lists change with every job, and branches on it would be mispredicted half of the time.
type list struct {
	at int32 // the place of its head
	n  int32
}

// arena holds the links of items; those of the lists' heads come first.
type arena struct {
	places []place
	heads  int32
}

type place struct{ before, after int32 }

// newArena makes room for items and gives lists their heads.
func newArena(items int, lists ...[]list) arena {
	a := arena{}
	a.claim(lists...)
	a.places = make([]place, int(a.heads)+items)
	return a
}

// claim gives lists their heads, the first places in turn.
func (a *arena) claim(lists ...[]list) {
	a.heads = 0
	for _, l := range lists {
		for i := range l {
			l[i].at = a.heads
			a.heads++
		}
	}
}

// walk counts a list's items, of which left there are to be. It fails where the links do not make a list, and where an
// item does not belong to it, as has says.
func (a *arena) walk(what string, l *list, left *int, has func(i int32) bool) error {
	n := int32(len(a.places))
	l.n = 0
	for p := l.at; ; l.n++ {
		next := a.places[p].after
		if next < 0 || next >= n || a.places[next].before != p || l.n > n {
			return fmt.Errorf("a list is broken at %s %d", what, p-a.heads)
		}
		if p = next; p == l.at {
			return nil
		}
		if *left--; p < a.heads || !has(p-a.heads) {
			return fmt.Errorf("%s %d is in a list that it does not belong to", what, p-a.heads)
		}
	}
}

// reset empties lists of the arena.
func (a *arena) reset(lists ...[]list) {
	for _, l := range lists {
		for i := range l {
			l[i].n = 0
			a.places[l[i].at] = place{l[i].at, l[i].at}
		}
	}
}

// push puts i at the list's end.
func (a *arena) push(l *list, i int32) {
	p := a.heads + i
	head := &a.places[l.at]
	a.places[p] = place{head.before, l.at}
	a.places[head.before].after = p
	head.before = p
	l.n++
}

// remove takes i out of the list that it is in.
func (a *arena) remove(l *list, i int32) {
	p := a.places[a.heads+i]
	a.places[p.before].after = p.after
	a.places[p.after].before = p.before
	l.n--
}

// cut removes the last n items of a list; i is the item before them, negative where they are all of it.
func (a *arena) cut(l *list, i, n int32) {
	a.places[a.heads+i].after = l.at
	a.places[l.at].before = a.heads + i
	l.n -= n
}

// first and last are the list's ends, negative where it is empty.
func (a *arena) first(l *list) int32 { return a.places[l.at].after - a.heads }
func (a *arena) last(l *list) int32  { return a.places[l.at].before - a.heads }

// next and before are i's neighbours, negative at an end.
func (a *arena) next(i int32) int32   { return a.places[a.heads+i].after - a.heads }
func (a *arena) before(i int32) int32 { return a.places[a.heads+i].before - a.heads }

// ring is a calendar: one page of indices for each of the coming slots, in order of insertion. The first links are
// those of the pages, so that an empty page is no special case.
type ring struct {
	tail  []int32 // the last link of each page, its own where the page is empty; their number is a power of two
	after []int32 // by link
}

func newRing(pages, items int) ring { return ring{make([]int32, pages), make([]int32, pages+items)} }

func (r *ring) reset() {
	for i := range r.tail {
		r.tail[i] = int32(i)
	}
}

// put files i under a slot less than len(tail) ahead.
func (r *ring) put(i, slot int32) {
	page := &r.tail[slot&int32(len(r.tail)-1)]
	i += int32(len(r.tail))
	r.after[*page] = i
	*page = i
}

// take empties a slot's page and returns its first index. next gives the others, and a negative number after the last.
func (r *ring) take(slot int32) int32 {
	page := slot & int32(len(r.tail)-1)
	r.after[r.tail[page]] = 0
	r.tail[page] = page
	return r.after[page] - int32(len(r.tail))
}

// next is the index after i on the page that was taken.
func (r *ring) next(i int32) int32 { return r.after[int32(len(r.tail))+i] - int32(len(r.tail)) }

// walk goes through all pages, which have n items, or any number where that is negative. It fails where the links do not
// make pages, and where an item does not belong there, as has says.
func (r *ring) walk(what string, n int, has func(i int32) bool) error {
	pages, links := int32(len(r.tail)), int32(len(r.after))
	seen, found := make([]bool, links), 0
	for page, tail := range r.tail {
		if tail < 0 || tail >= links {
			return fmt.Errorf("page %d of the calendar ends at %d of %d", page, tail, links)
		}
		for p := int32(page); p != tail; found++ {
			if p = r.after[p]; p < pages || p >= links || seen[p] || !has(p-pages) {
				return fmt.Errorf("%s %d does not belong to page %d of the calendar", what, p-pages, page)
			}
			seen[p] = true
		}
	}
	if n >= 0 && n != found {
		return fmt.Errorf("the calendar has %d, want %d (%s)", found, n, what)
	}
	return nil
}

// buckets is the number of pages for so many slots ahead.
func buckets(ahead int) int {
	n := 16
	for n <= ahead+1 {
		n *= 2
	}
	return n
}
