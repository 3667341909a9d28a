package pricing

// none ends lists and stands for no function.
const none = -1

// list is a doubly linked list of indices of one arena.
type list struct{ head, tail, n int32 }

var empty = list{none, none, 0}

// links are the neighbours of each index of an arena: [2i] before, [2i+1] after.
type links []int32

// push puts i at the list's end.
func (k links) push(l *list, i int32) {
	k[2*i], k[2*i+1] = l.tail, none
	if l.tail == none {
		l.head = i
	} else {
		k[2*l.tail+1] = i
	}
	l.tail = i
	l.n++
}

// remove takes i out of the list that it is in.
func (k links) remove(l *list, i int32) {
	before, after := k[2*i], k[2*i+1]
	if before == none {
		l.head = after
	} else {
		k[2*before+1] = after
	}
	if after == none {
		l.tail = before
	} else {
		k[2*after] = before
	}
	l.n--
}

// pop takes the first index out of a list that is not empty.
func (k links) pop(l *list) int32 {
	i := l.head
	l.head = k[2*i+1]
	if l.head == none {
		l.tail = none
	} else {
		k[2*l.head] = none
	}
	l.n--
	return i
}

// next is the index after i.
func (k links) next(i int32) int32 { return k[2*i+1] }

// ring is a calendar: one bucket of indices for each of the coming slots, in the order in which they were put there.
type ring struct {
	head, tail []int32 // a power of two of buckets
	after      []int32 // of each index
}

func (r *ring) reset() {
	for i := range r.head {
		r.head[i], r.tail[i] = none, none
	}
}

// put files i under a slot less than len(head) ahead.
func (r *ring) put(i, slot int32) {
	b := slot & int32(len(r.head)-1)
	r.after[i] = none
	if r.tail[b] == none {
		r.head[b] = i
	} else {
		r.after[r.tail[b]] = i
	}
	r.tail[b] = i
}

// take empties a slot's bucket and returns its first index; the others follow through after.
func (r *ring) take(slot int32) int32 {
	b := slot & int32(len(r.head)-1)
	i := r.head[b]
	r.head[b], r.tail[b] = none, none
	return i
}

// buckets is the number of buckets for so many slots ahead.
func buckets(ahead int) int {
	n := 16
	for n <= ahead+1 {
		n *= 2
	}
	return n
}
