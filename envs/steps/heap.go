package steps

// ending is what a [heap] orders: by when it ends.
type ending interface{ ends() float64 }

// heap holds things that end: the earliest comes first.
type heap[T ending] []T

func (h *heap[T]) push(x T) {
	*h = append(*h, x)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if s[up].ends() <= s[i].ends() {
			break
		}
		s[up], s[i] = s[i], s[up]
		i = up
	}
}

func (h *heap[T]) pop() T {
	s := *h
	first, last := s[0], len(s)-1
	s[0] = s[last]
	s = s[:last]
	for i := 0; ; {
		k := 2*i + 1
		if k >= last {
			break
		}
		if k+1 < last && s[k+1].ends() < s[k].ends() {
			k++
		}
		if s[i].ends() <= s[k].ends() {
			break
		}
		s[i], s[k] = s[k], s[i]
		i = k
	}
	*h = s
	return first
}

// moment is a time in seconds.
type moment float64

func (m moment) ends() float64 { return float64(m) }

// holding is an instance that holds room until its end.
type holding struct {
	end       float64
	cores, mb int
}

func (h holding) ends() float64 { return h.end }
