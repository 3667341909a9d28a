package native

import "time"

// pace chooses between all threads and one by what an update's last runs took. Threads wait for each other several times in an update, and
// where another process displaces one of them all wait: then one thread alone is faster, and leaves the other processor to whoever wants
// it. Results don't depend on the choice.
type pace struct {
	one    bool          // has been the faster
	runs   int           // since the other was tried
	wait   int           // runs until it is tried again
	trying int           // runs of a try that are left
	took   time.Duration // a run, of late, in the way that is thought the faster
	tries  [tryRuns]time.Duration
}

// A try is a few runs long and must win by a little. The first comes early; as long as nothing changes, each next one waits twice as long.
const tryRuns, firstTry, lastTry, margin = 8, 16, 512, 32

// threads is how many the coming run takes.
func (p *pace) threads(most int) int {
	if p.one != (p.trying > 0) {
		return 1
	}
	return most
}

// ran takes in the time of a run.
func (p *pace) ran(d time.Duration) {
	if p.trying > 0 {
		p.trying--
		p.tries[p.trying] = d
		if p.trying == 0 {
			p.decide()
		}
		return
	}
	if p.took == 0 {
		p.took = d
	}
	p.took += (d - p.took) / 8
	if p.runs++; p.runs >= max(p.wait, firstTry) {
		p.trying = tryRuns
	}
}

// decide changes over where the try was faster.
func (p *pace) decide() {
	p.runs, p.wait = 0, min(2*max(p.wait, firstTry), lastTry)
	if d := mean(p.tries[:]); d < p.took-p.took/margin {
		p.one, p.took, p.wait = !p.one, d, firstTry
	}
}

// mean leaves out the first run of a try, which is the last in the list: threads may have to wake.
func mean(tries []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range tries[:len(tries)-1] {
		sum += d
	}
	return sum / time.Duration(len(tries)-1)
}
