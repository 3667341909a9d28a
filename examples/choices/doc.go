// Package choices has three small environments for those who write their own: one choice ([Replicas]), choices with a
// mask ([Limited]), and two kinds of agents that see and do different things ([Shop]). docs/environments.md quotes them.
package choices
