// Package faasconf redoes the figures of FaaSConf (Wang et al., ASE 2024): the motivation (Figs. 1 and 3), the search
// under static users (Fig. 8), 85 minutes of a trace (Figs. 9 and 10) and the ablations (Figs. 11 to 14).
//
// Fig. 2 is left out: the paper does not say how the functions' own QoS was set. Costs are USD per hour, since the
// paper's "scaled cost" comes without its factor.
package faasconf
