package deeprm

// cluster holds the free slots of each resource in each time step of the horizon. The numbers of one time step share a
// word, 16 bits (a lane) for each resource, so that one subtraction compares all of them: a configuration has at most
// four resources of at most 4,096 slots each.
type cluster struct {
	free []uint64 // by time step from now
	full uint64   // all slots free
}

const (
	// guards are the lanes' top bits, which are not used by numbers: a lane that would fall below zero borrows from its
	// own guard bit.
	guards = 0x8000_8000_8000_8000
	// never is a demand that exceeds any cluster: 4,096 slots are fewer in every lane.
	never = 0x7fff_7fff_7fff_7fff
)

// pack puts the numbers of up to four resources into one word.
func pack(of []int) uint64 {
	x := uint64(0)
	for r, n := range of {
		x |= uint64(n) << (16 * r)
	}
	return x
}

// lane is the number of resource r.
func lane(x uint64, r int) int { return int(x >> (16 * r) & 0xffff) }

// room reports whether a demand is at most what is free, in every lane.
func room(free, demand uint64) bool { return ((free|guards)-demand)&guards == guards }

// fits reports whether a job can start at time step t and run to its end within the horizon.
func (c *cluster) fits(j *job, t int) bool {
	if t+int(j.length) > len(c.free) {
		return false
	}
	for _, f := range c.free[t : t+int(j.length)] {
		if !room(f, j.demand) {
			return false
		}
	}
	return true
}

// earliest is the first time step before end at which a job can start, -1 where there is none.
func (c *cluster) earliest(j *job, end int) int {
	for t := range end {
		if c.fits(j, t) {
			return t
		}
	}
	return -1
}

// take gives a job its slots from time step t on.
func (c *cluster) take(j *job, t int) {
	for i := range c.free[t : t+int(j.length)] {
		c.free[t+i] -= j.demand
	}
}

// move lets a time step pass.
func (c *cluster) move() {
	copy(c.free, c.free[1:])
	c.free[len(c.free)-1] = c.full
}

func (c *cluster) clear() {
	for i := range c.free {
		c.free[i] = c.full
	}
}
