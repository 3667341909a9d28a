package workflow

// FaaSConfSequential is FaaSConf's Sequential workflow: five machine-learning functions in sequence.
func FaaSConfSequential() Graph {
	return New("sequential", Chain("starter", "load", "resize", "update", "resnet"))
}

// FaaSConfParallel is FaaSConf's Parallel workflow: four functions in sequence, then two classifiers in parallel.
func FaaSConfParallel() Graph {
	return New("parallel", Chain("starter", "rgb", "resize", "update"), Fork("update", "resnet", "mobilenet"))
}

// FaaSConfBranch is FaaSConf's Branch workflow: of five requests two run rgb and mobilenet, three run load and resnet
// (the mix of its load generator).
func FaaSConfBranch() Graph {
	return New("branch", Choice("starter", To("rgb", 0.4), To("load", 0.6)),
		Chain("rgb", "resize", "update", "mobilenet"), Chain("load", "resnet"))
}

// FaaSConfTcktApp is FaaSConf's TcktApp: the twelve functions behind train-ticket's ticket search, listed in the order
// of its code. The published adjacency is symmetric and leaves these points open, which we chose:
//
//   - which function calls which, inferred from their names;
//   - the order of the calls;
//   - mode: calls one by one, since the application's Java services block on each call, or together, for comparison;
//   - a function with several callers runs at a separate node for each of them, named caller/callee.
func FaaSConfTcktApp(mode CallMode) Graph {
	const (
		left     = "get-left-trip-tickets"
		interval = "get-left-ticket-of-interval"
		price    = "get-price-by-routeid-and-traintype"
		route    = "get-route-by-routeid"
		tripped  = "get-route-by-tripid"
		sold     = "get-sold-tickets"
		kind     = "get-traintype-by-traintypeid"
		kindOf   = "get-traintype-by-tripid"
		orders   = "query-already-sold-orders"
		config   = "query-config-entity-by-config-name"
		station  = "query-for-station-id-by-station-name"
		travel   = "query-for-travel"
	)
	g := Graph{
		Name: "tcktapp", Entry: left,
		Functions: []string{left, interval, price, route, tripped, sold, kind, kindOf, orders, config, station, travel},
	}
	var add func(caller, function string)
	calls := map[string][]string{
		left:     {station, route, kind, orders, travel, interval},
		travel:   {station, route, kind, price},
		interval: {tripped, kindOf, sold, config},
		tripped:  {route},
		kindOf:   {kind},
	}
	add = func(caller, function string) {
		name := function
		if caller != "" {
			name = caller + "/" + function
			g.Edges = append(g.Edges, Edge{From: caller, To: name, Kind: Call})
		}
		g.Nodes = append(g.Nodes, Node{Name: name, Function: function, Calls: mode})
		for _, callee := range calls[function] {
			add(name, callee)
		}
	}
	add("", left)
	return g
}

// FaaSConf returns FaaSConf's four workflows, with their functions in the order of the agents.
func FaaSConf() []Graph {
	return []Graph{FaaSConfSequential(), FaaSConfParallel(), FaaSConfBranch(), FaaSConfTcktApp(OneByOne)}
}
