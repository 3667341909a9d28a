package pool

import "time"

// Pace chooses between all threads and one by how long an update's last runs took. Threads wait for each other
// several times in an update, and where another process displaces one of them all wait: then one thread alone
// is faster, and leaves the other processor to that process. Results don't depend on the choice.
type Pace struct {
	one    bool          // one thread has been the faster
	runs   int           // since the other choice was tried
	wait   int           // runs until it is tried again
	trying int           // runs of a trial that are left
	took   time.Duration // moving average of a run by the present choice
	trials [trialRuns]time.Duration
}

// A trial has a few runs and must win by 1/margin. The first comes early; as long as nothing changes, each next
// one waits twice as long.
const trialRuns, firstTrial, lastTrial, margin = 8, 16, 512, 32

// Threads is how many the coming run takes.
func (p *Pace) Threads(most int) int {
	if p.one != (p.trying > 0) {
		return 1
	}
	return most
}

// Ran takes in the time of a run.
func (p *Pace) Ran(d time.Duration) {
	if p.trying > 0 {
		p.trying--
		p.trials[p.trying] = d
		if p.trying == 0 {
			p.decide()
		}
		return
	}
	if p.took == 0 {
		p.took = d
	}
	p.took += (d - p.took) / 8
	if p.runs++; p.runs >= max(p.wait, firstTrial) {
		p.trying = trialRuns
	}
}

// decide changes the choice where the trial was faster.
func (p *Pace) decide() {
	p.runs, p.wait = 0, min(2*max(p.wait, firstTrial), lastTrial)
	if d := mean(p.trials[:]); d < p.took-p.took/margin {
		p.one, p.took, p.wait = !p.one, d, firstTrial
	}
}

// mean leaves out the first run of a trial, which is the last in the list: threads may have to wake.
func mean(trials []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range trials[:len(trials)-1] {
		sum += d
	}
	return sum / time.Duration(len(trials)-1)
}
