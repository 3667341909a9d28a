package workflow

// FaaSConfSequential is FaaSConf's Sequential workflow: five machine-learning functions in a row.
func FaaSConfSequential() Graph {
	return New("sequential", Chain("starter", "load", "resize", "update", "resnet"))
}

// FaaSConfParallel is FaaSConf's Parallel workflow: four functions in a row, then two classifiers side by side.
func FaaSConfParallel() Graph {
	return New("parallel", Chain("starter", "rgb", "resize", "update"), Fork("update", "resnet", "mobilenet"))
}

// FaaSConfBranch is FaaSConf's Branch workflow: two of five requests go through colour conversion to
// mobilenet, three through load to resnet (the mix of its load generator).
func FaaSConfBranch() Graph {
	return New("branch", Choice("starter", To("rgb", 0.4), To("load", 0.6)),
		Chain("rgb", "resize", "update", "mobilenet"), Chain("load", "resnet"))
}

// FaaSConfTcktApp is FaaSConf's TcktApp: the twelve functions behind train-ticket's ticket search. The published
// adjacency is symmetric; the direction of its edges (who calls whom) is ours, read off the functions' names. So
// is the way of calling: one by one, since the application's Java services block on each call, or
// together for comparison. A function that several others call runs at a node of its own for each.
func FaaSConfTcktApp(mode CallMode) Graph { return Graph{Nodes: []Node{{Calls: mode}}} }
