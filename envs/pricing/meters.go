package pricing

import (
	"fmt"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
)

// Meters is what a provider measures in a window: all that a pricing policy sees. The simulator fills it as a platform
// does; [Observer] makes the observation from it.
type Meters struct {
	// Tiers are the service tiers, in the configuration's order.
	Tiers []TierMeters `json:"tiers"`
	// Potential is the load of which each tier drew its share, in jobs a slot.
	Potential float64 `json:"potential" unit:"jobs a slot"`
	// Next is the number of the window that comes now. Its time of day is its place in demand.period windows, a day.
	Next int64 `json:"next" unit:"number of the coming window"`
	// Revenue is what jobs brought in the window. Base is what keep-alive vGPUs cost, GPU what transient ones did, Switch
	// what switches did, and SLA the penalties of violated jobs. All are in the configuration's unit of money.
	Revenue float64 `json:"revenue" unit:"money of the window"`
	Base    float64 `json:"base" unit:"money of the window"`
	GPU     float64 `json:"gpu" unit:"money of the window"`
	Switch  float64 `json:"switch" unit:"money of the window"`
	SLA     float64 `json:"sla" unit:"money of the window"`
	// Utilisation is the share of all vGPUs that were in service, the mean over the window.
	Utilisation float64 `json:"utilisation" unit:"share of all vGPUs, 0 to 1"`
	// Capacity is the share of the vGPUs that is there now, needed where market.failures are configured. RivalPrice is what
	// the rival asks in the coming window, needed where market.rival is.
	Capacity   float64 `json:"capacity,omitempty" unit:"share of all vGPUs, 0 to 1"`
	RivalPrice float64 `json:"rival_price,omitempty" unit:"money per billing unit"`
}

// TierMeters is what a provider measures of one tier in a window.
type TierMeters struct {
	// TierPrice was in force.
	TierPrice
	// Rate is the load that was expected at this price, in jobs a slot.
	Rate float64 `json:"rate" unit:"jobs a slot"`
	// Arrived is the number of jobs that arrived, Violated of those that were found too late for their SLA, Begun of those
	// that began.
	Arrived  float64 `json:"arrived" unit:"jobs"`
	Violated float64 `json:"violated" unit:"jobs"`
	Begun    float64 `json:"begun" unit:"jobs"`
	// Waiting is the number of jobs that wait now, late ones included.
	Waiting int `json:"waiting" unit:"jobs that wait now"`
}

// TierPrice is what a provider sets for one tier in a window: the decision of a pricing policy.
type TierPrice struct {
	// Price is what a billing unit costs users.
	Price float64 `json:"price" unit:"money per billing unit"`
	// KeepAlive is the number of keep-alive vGPUs of the tier: its baseline.
	KeepAlive int `json:"keep_alive" unit:"vGPUs"`
}

// decodePrices writes what an action asks for. Baselines are projected onto the number of vGPUs: while their sum exceeds
// it, the largest loses one (the projection of eq. 13).
func decodePrices(a []float32, vgpus int, to []TierPrice) {
	n, sum := len(to), 0
	for m := range to {
		to[m] = TierPrice{float64(a[m]), int(a[n+m])}
		sum += to[m].KeepAlive
	}
	for ; sum > vgpus; sum-- {
		most := 0
		for m := range to {
			if to[m].KeepAlive > to[most].KeepAlive {
				most = m
			}
		}
		to[most].KeepAlive--
	}
}

// SlotMeters is what a provider measures in a slot: all that a scheduling policy sees. Its lists, but Tiers, have an
// entry for each function: those of the first tier, then those of the next, and so on.
type SlotMeters struct {
	// Slot is the number of the slot that comes now, counted from the beginning of a window.
	Slot int64 `json:"slot" unit:"number of the coming slot"`
	// Off is the number of vGPUs that are off, whatever they hosted.
	Off int32 `json:"off" unit:"vGPUs"`
	// Tiers is what is in force in this window.
	Tiers []TierPrice `json:"tiers"`
	// Queue is the number of jobs that wait and can still meet their SLA, Late of those that can no longer.
	Queue []int32 `json:"queue" unit:"jobs"`
	Late  []int32 `json:"late" unit:"jobs"`
	// Arrived is the number of jobs that arrived in this slot, Violated of those found too late in it. Begun is the number
	// of jobs that began in the last slot.
	Arrived  []int32 `json:"arrived" unit:"jobs"`
	Violated []int32 `json:"violated" unit:"jobs"`
	Begun    []int32 `json:"begun" unit:"jobs"`
	// Estimate is the forecast of arrivals in jobs a slot: a moving mean in which a new slot weighs forecast.
	Estimate []float64 `json:"estimate" unit:"jobs a slot"`
	// Wait is for how many slots the first job of the queue has waited.
	Wait []int32 `json:"wait" unit:"slots"`
	// Keep is the number of keep-alive vGPUs, IdleKeep of those that are loaded and idle.
	Keep     []int32 `json:"keep" unit:"vGPUs"`
	IdleKeep []int32 `json:"idle_keep" unit:"vGPUs"`
	// Transient is the number of transient vGPUs, Idle of those that are loaded and idle, Patient of these that have been
	// so for patience slots at least. IdleSince is for how many slots the longest idle has been so.
	Transient []int32 `json:"transient" unit:"vGPUs"`
	Idle      []int32 `json:"idle" unit:"vGPUs"`
	Patient   []int32 `json:"patient" unit:"vGPUs"`
	IdleSince []int32 `json:"idle_since" unit:"slots"`
	// Loading is the number of vGPUs that load the function, Warm of those that are off and could serve it without a load.
	Loading []int32 `json:"loading" unit:"vGPUs"`
	Warm    []int32 `json:"warm" unit:"vGPUs"`
}

// NewSlotMeters returns meters with room for so many tiers and functions, all 0.
func NewSlotMeters(tiers, functions int) *SlotMeters {
	m := &SlotMeters{Tiers: make([]TierPrice, tiers), Estimate: make([]float64, functions)}
	for _, c := range m.columns() {
		*c.of = make([]int32, functions)
	}
	return m
}

// column is one of the lists.
type column struct {
	key string
	of  *[]int32
}

// columns are the lists of whole numbers.
func (m *SlotMeters) columns() [14]column {
	return [...]column{
		{"queue", &m.Queue}, {"late", &m.Late}, {"arrived", &m.Arrived}, {"violated", &m.Violated}, {"begun", &m.Begun},
		{"wait", &m.Wait}, {"keep", &m.Keep}, {"idle_keep", &m.IdleKeep}, {"transient", &m.Transient}, {"idle", &m.Idle},
		{"patient", &m.Patient}, {"idle_since", &m.IdleSince}, {"loading", &m.Loading}, {"warm", &m.Warm},
	}
}

// ParseMeters reads the meters of a window from JSON. [Observer.Observe] checks the numbers.
func ParseMeters(data []byte) (*Meters, error) {
	m := &Meters{}
	if err := envs.ParseMeasured(data, m); err != nil {
		return nil, fmt.Errorf("meters: %w", err)
	}
	return m, nil
}

// ParseSlotMeters reads the meters of a slot from JSON. [SlotObserver.Observe] checks the numbers.
func ParseSlotMeters(data []byte) (*SlotMeters, error) {
	m := &SlotMeters{}
	if err := envs.ParseMeasured(data, m); err != nil {
		return nil, fmt.Errorf("meters: %w", err)
	}
	return m, nil
}

// Limits of readings. A reading beyond them has a wrong unit, or is missing.
const (
	mostCount = 1 << 30
	mostMoney = 1e15
)

// reading is a measured number with its key, and the most that it can be; the least is 0.
type reading struct {
	key     string
	x, most float64
}

// possible names the first of some readings that cannot be.
func possible(all []reading) error {
	for _, n := range all {
		if err := bounds.Between(n.key, n.x, 0, n.most); err != nil {
			return err
		}
	}
	return nil
}

func (m *Meters) validate() error {
	if err := possible([]reading{
		{"potential", m.Potential, mostCount}, {"next", float64(m.Next), 1 << 40}, {"revenue", m.Revenue, mostMoney},
		{"base", m.Base, mostMoney}, {"gpu", m.GPU, mostMoney}, {"switch", m.Switch, mostMoney}, {"sla", m.SLA, mostMoney},
		{"utilisation", m.Utilisation, 1}, {"capacity", m.Capacity, 1}, {"rival_price", m.RivalPrice, 1e6},
	}); err != nil {
		return err
	}
	for i := range m.Tiers {
		if err := m.Tiers[i].validate(); err != nil {
			return fmt.Errorf("tiers[%d].%w", i, err)
		}
	}
	return nil
}

func (t *TierMeters) validate() error {
	if err := possible([]reading{
		{"rate", t.Rate, mostCount}, {"arrived", t.Arrived, mostCount}, {"violated", t.Violated, mostCount},
		{"begun", t.Begun, mostCount}, {"waiting", float64(t.Waiting), mostCount},
	}); err != nil {
		return err
	}
	return t.TierPrice.validate()
}

func (t *TierPrice) validate() error {
	return possible([]reading{{"price", t.Price, 1e6}, {"keep_alive", float64(t.KeepAlive), 1 << 16}})
}

func (m *SlotMeters) validate() error {
	if err := possible([]reading{{"slot", float64(m.Slot), 1 << 40}, {"off", float64(m.Off), 1 << 16}}); err != nil {
		return err
	}
	for i := range m.Tiers {
		if err := m.Tiers[i].validate(); err != nil {
			return fmt.Errorf("tiers[%d].%w", i, err)
		}
	}
	for _, c := range m.columns() {
		for f, x := range *c.of {
			if x < 0 || x > mostCount {
				return bounds.Errorf(fmt.Sprintf("%s[%d]", c.key, f), "is %d, want 0 to %d", x, mostCount)
			}
		}
	}
	for f, x := range m.Estimate {
		if !(x >= 0 && x <= mostCount) { // a key is made only where there is an error
			return bounds.Between(fmt.Sprintf("estimate[%d]", f), x, 0, mostCount)
		}
	}
	return nil
}

// What a provider sees of a market that moves, and what is reported of it. Each column is there where what it shows is
// configured. The sensitivity itself is not seen: only how many users came.

// marketFeatures are the columns behind the others.
func (c *Config) marketFeatures() (out []envs.Feature[Meters]) {
	m, slots := &c.Market, float64(c.Slots)
	if m.demands() {
		for i := range c.Tiers {
			out = append(out, envs.NewFeature(fmt.Sprintf("realised share %d", i+1), "of the potential load",
				"jobs of the tier that arrived, over the potential load", func(m *Meters) float32 {
					return float32(ratio(m.Tiers[i].Arrived, float64(m.Potential*slots), 0))
				}))
		}
		out = append(out, envs.NewFeature("realised demand", "of the expected arrivals",
			"jobs that arrived over those that were expected; 1 before the first window", func(m *Meters) float32 {
				var arrived, expected float64
				for i := range m.Tiers {
					arrived, expected = arrived+m.Tiers[i].Arrived, expected+m.Tiers[i].Rate
				}
				return float32(ratio(arrived, float64(expected*slots), 1))
			}))
	}
	if m.fails() {
		out = append(out, envs.NewFeature("capacity", "of vGPUs", "0 to 1: vGPUs that are there now",
			func(m *Meters) float32 { return float32(m.Capacity) }))
	}
	if m.rivals() {
		out = append(out, envs.NewFeature("rival price", "per billing unit", "what the rival asks in the next window",
			func(m *Meters) float32 { return float32(m.RivalPrice) }))
	}
	return out
}

// ratio is x over y, or what it is where y is 0.
func ratio(x, y, none float64) float64 {
	if y == 0 {
		return none
	}
	return x / y
}

// marketKeys are the keys of the readings that these columns show; "" where a column is a ratio of readings.
func (c *Config) marketKeys() (keys []string) {
	m := &c.Market
	if m.demands() {
		keys = make([]string, len(c.Tiers)+1)
	}
	if m.fails() {
		keys = append(keys, "capacity")
	}
	if m.rivals() {
		keys = append(keys, "rival_price")
	}
	return keys
}

// meterMarket fills what is measured of the market. Where demand moves, the expected arrivals are those of the
// configured sensitivity.
func (w *world) meterMarket(m *Meters) {
	c := &w.cfg.Market
	if c.drifts() && w.window >= 0 {
		w.divide(w.expected, true)
		potential := w.potential(int(w.window))
		for i := range m.Tiers {
			m.Tiers[i].Rate = float64(potential * w.expected[i])
		}
	}
	if c.fails() {
		m.Capacity = w.capacity()
	}
	if c.rivals() {
		m.RivalPrice = c.rivalPrice(&w.market.next)
	}
}

// validateMarket checks the readings that a market needs.
func (m *Meters) validateMarket(c *Market) error {
	if c.fails() && m.Capacity == 0 {
		return bounds.Errorf("capacity", "is 0, want the share of the vGPUs that is there, as env.market.failures is configured")
	}
	if c.rivals() && m.RivalPrice == 0 {
		return bounds.Errorf("rival_price", "is 0, want what the rival asks, as env.market.rival is configured")
	}
	return nil
}

// marketQuantities lists what is reported of the market, in the order in which reportMarket writes it.
func (c *Config) marketQuantities() (q []envs.Quantity) {
	m, some := &c.Market, envs.AtLeast(0)
	if m.drifts() {
		q = append(q, envs.Quantity{Name: "sensitivity", Unit: "of demand.beta", Reduce: envs.Mean, Bounds: some, Doc: "the factor on the users' sensitivity to prices"})
	}
	if m.fails() {
		q = append(q, envs.Quantity{Name: "capacity", Unit: "of vGPUs", Reduce: envs.PerTime, Bounds: envs.Share(),
			Doc: "vGPUs that are there"})
	}
	if m.rivals() {
		q = append(q,
			envs.Quantity{Name: "rival_price", Unit: "per billing unit", Reduce: envs.Mean, Bounds: some,
				Doc: "the rival's price"},
			envs.Quantity{Name: "rival_share", Unit: "of the potential load", Reduce: envs.Mean, Bounds: envs.Share(),
				Doc: "the rival's share"})
	}
	return q
}

// reportMarket adds the market's quantities to those of an account.
func (w *world) reportMarket(info, acc []float64) {
	m, at := &w.cfg.Market, &w.market.now
	if m.drifts() {
		info = append(info, m.sensitivity(at))
	}
	if m.fails() {
		info = append(info, acc[len(acc)-1]/max(acc[accSlots], 1))
	}
	if m.rivals() {
		_ = append(info, m.rivalPrice(at), w.rival)
	}
}
