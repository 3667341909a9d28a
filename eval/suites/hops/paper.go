package hops

// What the paper prints, in Sec. IV and Figs. 2 to 4. Where it gives a bound, the row's note says so.
const (
	paperProfit    = 6.7e5 // HOPS, "nearly"
	paperBest      = 4.4e5 // HAS-GPU, the best rival, "around"
	paperViolated  = 14.0  // % of HOPS at the 40th window, "around"
	paperViolatedH = 19.0  // % of HAS-GPU, "over"
	paperSwitches  = 422.0
	// HOPS' switches are "less than 4 %" of HAS-GPU's and "an order of magnitude" fewer than MQFQ-Sticky's.
	paperSwitchesHAS  = 10550.0
	paperSwitchesMQFQ = 4220.0
	paperUsed         = 71.0 // %, the middle of 70 to 72
)

// Fig. 3's final values of tiers 1 to 3.
var (
	paperShares    = []float64{21, 35, 44} // %
	paperPrices    = []float64{1.1, 1.3, 1.5}
	paperBaselines = []float64{8, 15, 20}
)

// tail is the number of windows at the end of an episode over which final values are averaged, an assumption: the
// paper reads them off its figure.
const tail = 10
