package pricing

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Market is what moves beside the load. Each process has a stream of its own, and begins in its stationary law.
type Market struct {
	// Sensitivity is how the users' sensitivity to prices drifts.
	Sensitivity Sensitivity `yaml:"sensitivity" json:"sensitivity"`
	// Failures are vGPUs that fail and return.
	Failures Failures `yaml:"failures" json:"failures"`
	// Rival is another provider, whose prices move.
	Rival Rival `yaml:"rival" json:"rival"`
}

// Sensitivity is a factor on [Demand.Beta] that changes from window to window.
type Sensitivity struct {
	// Drift is steady (the factor is 1), walk (a normal random walk between low and high, reflected at both) or regimes
	// (low or high, each for a geometric time).
	Drift string `yaml:"drift" json:"drift" oneof:"steady|walk|regimes"`
	// Low and High bound the factor. A walk's law is uniform between them; regimes are as likely.
	Low  float64 `yaml:"low" json:"low" range:"[0.01,100]"`
	High float64 `yaml:"high" json:"high" range:"[0.01,100]"`
	// Memory is the number of windows after which the correlation is 1/e: of the factor with regimes, and with a walk of
	// cos(π·place), where place is 0 at low and 1 at high.
	Memory float64 `yaml:"memory" json:"memory" range:"[0.1,1e6]"`
}

// Drifts, as [Sensitivity.Drift] names them.
const (
	SteadyDrift  = "steady"
	WalkDrift    = "walk"
	RegimesDrift = "regimes"
)

// Failures take a part of the vGPUs away together: those with the highest numbers. A vGPU at work ends its job first.
// What is away is not paid for.
type Failures struct {
	// Share is the share of the vGPUs that fails, rounded to whole ones; 0 is none.
	Share float64 `yaml:"share" json:"share" range:"[0,1)"`
	// Between is the mean time from a repair to the next failure, and Repair that of a repair, in windows. Both times are
	// exponential.
	Between float64 `yaml:"between" json:"between" range:"[0.01,1e6]"`
	Repair  float64 `yaml:"repair" json:"repair" range:"[0.01,1e6]"`
}

// Rival is a provider whose utility to users is Quality - Beta·price, with the sensitivity of the window. Users choose
// between the tiers, the rival and, with the outside option, staying away. The logarithm of the price is an
// Ornstein-Uhlenbeck process that is seen once in a window.
type Rival struct {
	// Price is the mean price; 0 is no rival.
	Price float64 `yaml:"price" json:"price" range:"[0,1e6]"`
	// Spread is the standard deviation of the price's logarithm.
	Spread float64 `yaml:"spread" json:"spread" range:"[0,3]"`
	// Memory is the number of windows after which the logarithm's correlation is 1/e.
	Memory float64 `yaml:"memory" json:"memory" range:"[0.1,1e6]"`
	// Quality is the utility of the rival's service without its price, as Alpha·SLA is that of a tier.
	Quality float64 `yaml:"quality" json:"quality" range:"[-100,100]"`
}

func defaultMarket() Market {
	return Market{
		Sensitivity: Sensitivity{Drift: SteadyDrift, Low: 0.6, High: 1.6, Memory: 12},
		Failures:    Failures{Between: 20, Repair: 5},
		Rival:       Rival{Spread: 0.25, Memory: 8, Quality: -1},
	}
}

func (m *Market) drifts() bool { return m.Sensitivity.Drift != SteadyDrift }
func (m *Market) fails() bool  { return m.Failures.Share > 0 }
func (m *Market) rivals() bool { return m.Rival.Price > 0 }

// demands reports whether demand depends on more than the load and the own prices, moves whether anything moves.
func (m *Market) demands() bool { return m.drifts() || m.rivals() }
func (m *Market) moves() bool   { return m.demands() || m.fails() }

// failing is how many vGPUs fail together.
func (c *Config) failing() int {
	return int(math.Round(float64(c.Market.Failures.Share * float64(c.VGPUs))))
}

func (c *Config) validateMarket() error {
	m := &c.Market
	if s := &m.Sensitivity; s.Low > s.High {
		return fieldError("market.sensitivity.high", s.High, fmt.Sprintf("at least low, %g", s.Low))
	}
	if n := c.failing(); m.fails() && (n < 1 || n >= c.VGPUs) {
		return fieldError("market.failures.share", m.Failures.Share,
			fmt.Sprintf("0, or a share that is 1 to %d of %d vGPUs", c.VGPUs-1, c.VGPUs))
	}
	return nil
}

// standing is where the market stands in a window: the place of the sensitivity between low (0) and high (1), and the
// rival's price as a normal number.
type standing struct{ place, rival float64 }

// market is what moves, as copies and saved states hold it. A policy decides a window's prices when the rival has
// posted its own: next is then drawn, and becomes now when the window begins.
type market struct {
	now, next standing
	turn      float64 // when the vGPUs fail or return next, in windows since the episode began
	turns     int64   // failures and returns so far
	down      int64   // 1 while they have failed
}

// marketKeys name the draws, and marketSteps are what follows from the configuration.
type marketKeys struct{ sensitivity, failures, rival rng.Key }

type marketSteps struct {
	walk        float64 // standard deviation of a step of the place
	flip        float64 // probability of another regime
	stay, fresh float64 // weights of the rival's last number and of a new one
}

// steps are made so that correlations fall to 1/e in Memory windows. The law of a walk that is reflected is the heat
// kernel of the interval: cos(π·place) falls by exp(-(π·walk)²/2) in a step.
func (m *Market) steps() (s marketSteps) {
	s.walk = math.Sqrt(2/m.Sensitivity.Memory) / math.Pi
	s.flip = (1 - portable.Exp(-1/m.Sensitivity.Memory)) / 2
	s.stay = portable.Exp(-1 / m.Rival.Memory)
	s.fresh = math.Sqrt(1 - float64(s.stay*s.stay))
	return s
}

// beginMarket draws where the market stands when an episode begins.
func (w *world) beginMarket() {
	w.market = market{}
	m := &w.cfg.Market
	w.moveMarket(0)
	if !m.fails() {
		return
	}
	f := &m.Failures
	u := w.keys.failures.With(0).Float64()
	w.traced("failures", 0, 0, 0, u)
	if u < f.Repair/(f.Between+f.Repair) {
		w.market.down = 1
	}
	w.market.turn = w.lasts()
	if w.market.down == 1 {
		w.withdraw()
	}
}

// moveMarket draws where the market stands in window t from where it stands in the window before.
func (w *world) moveMarket(t int64) {
	m, s := &w.cfg.Market, &w.market.next
	if m.drifts() {
		k := w.keys.sensitivity.With(uint64(t))
		x := k.Float64()
		switch {
		case m.Sensitivity.Drift == RegimesDrift && t == 0:
			s.place = math.Floor(2 * float64(x))
		case m.Sensitivity.Drift == RegimesDrift:
			if x < w.steps.flip {
				s.place = 1 - s.place
			}
		case t == 0:
			s.place = x
		default:
			x = k.Norm()
			s.place = folded(s.place + float64(w.steps.walk*x))
		}
		w.traced("sensitivity", uint64(t), 0, 0, x)
	}
	if m.rivals() {
		x := w.keys.rival.With(uint64(t)).Norm()
		w.traced("rival", uint64(t), 0, 0, x)
		if t == 0 {
			s.rival = x
		} else {
			s.rival = float64(w.steps.stay*s.rival) + float64(w.steps.fresh*x)
		}
	}
}

// folded reflects x at 0 and at 1 until it is between them.
func folded(x float64) float64 {
	x = math.Abs(x)
	x -= float64(2 * math.Floor(x/2))
	return min(x, 2-x)
}

// sensitivity is the factor on [Demand.Beta].
func (m *Market) sensitivity(at *standing) float64 {
	if !m.drifts() {
		return 1
	}
	return m.Sensitivity.Low + float64((m.Sensitivity.High-m.Sensitivity.Low)*at.place)
}

// rivalPrice is the rival's price; its mean is [Rival.Price].
func (m *Market) rivalPrice(at *standing) float64 {
	s := m.Rival.Spread
	return float64(m.Rival.Price * portable.Exp(float64(s*at.rival)-float64(float64(s*s)/2)))
}

// divide writes the shares that the tiers get of the present window's users, and returns the rival's. With expected the
// sensitivity is the configured one, which is all that a provider knows.
func (w *world) divide(shares []float64, expected bool) (rival float64) {
	m, beta, utility := &w.cfg.Market, w.cfg.Demand.Beta, math.Inf(-1)
	if m.drifts() && !expected {
		beta = float64(beta * m.sensitivity(&w.market.now))
	}
	if m.rivals() {
		utility = m.Rival.Quality - float64(beta*m.rivalPrice(&w.market.now))
	}
	return w.cfg.split(w.prices, shares, beta, utility)
}

// lasts draws how long the vGPUs stay as they are.
func (w *world) lasts() float64 {
	k := uint64(w.market.turns) + 1 // 0 is how an episode begins
	x := w.keys.failures.With(k).Exp()
	w.traced("failures", k, 0, 0, x)
	if w.market.down == 1 {
		return float64(x * w.cfg.Market.Failures.Repair)
	}
	return float64(x * w.cfg.Market.Failures.Between)
}

// fail has the vGPUs fail and return that do so until the slot that comes.
func (w *world) fail() {
	now, before := float64(w.slot)/float64(w.cfg.Slots), w.market.down
	for w.market.turn <= now {
		w.market.down = 1 - w.market.down
		w.market.turns++
		w.market.turn += w.lasts()
	}
	if w.market.down == before {
		return
	}
	if w.market.down == 1 {
		w.withdraw()
		return
	}
	for j := w.firstFailing(); j < int32(len(w.vgpus)); j++ {
		if w.vgpus[j].state == vgpuDown {
			w.goOff(j)
		}
	}
}

// firstFailing is the first of the vGPUs that fail.
func (w *world) firstFailing() int32 { return int32(len(w.vgpus) - w.cfg.failing()) }

// withdraw takes the failed vGPUs away that are not at work.
func (w *world) withdraw() {
	for j := w.firstFailing(); j < int32(len(w.vgpus)); j++ {
		if s := w.vgpus[j].state; s == vgpuOff || s == vgpuIdle {
			w.goDown(j)
		}
	}
}

// goDown takes vGPU j away, which is off or idle.
func (w *world) goDown(j int32) {
	v := &w.vgpus[j]
	if v.state == vgpuIdle {
		f := int(v.host)
		w.leaveIdle(j, f)
		w.count(f, v.role, -1)
		if v.role == keepAlive {
			w.short++
		}
		w.goOff(j)
	}
	w.goOn(j)
	v.state = vgpuDown
	w.gpuTaken(j)
}

// capacity is the share of the vGPUs that is there.
func (w *world) capacity() float64 {
	return 1 - float64(w.market.down)*float64(w.cfg.failing())/float64(w.cfg.VGPUs)
}
