// Package faasconf redoes the figures of FaaSConf (Wang et al., ASE 2024): the motivation (Figs. 1 to 3), the search
// under static users (Fig. 8), 85 minutes of a trace (Figs. 9 and 10) and the ablations (Figs. 11 to 14).
//
// For Figs. 9 and 10 it trains policies in the simulator (suite.Options.Train); for the others learners learn from
// libraries, in memory. Costs are USD per hour, since the paper's "scaled cost" comes without its factor.
package faasconf
