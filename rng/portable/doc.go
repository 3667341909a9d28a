// Package portable holds elementary functions whose results have the same bits everywhere.
//
// Those of package math do not: its Sin, Cos, Log1p and Erfinv are compiled with fused multiply-add where the
// architecture or the GOAMD64 level has it, and its Exp looks at the processor. A world computed with them would differ
// between machines, and its golden traces with it. Here every product that feeds a sum is rounded first, and nothing
// but +, −, ×, ÷, square root and moves of bits is used.
//
// Results are within two units in the last place of the exact ones (one for most arguments); each function says where
// that ends. math.Sqrt, math.Floor and the like are exact and need no replacement; math.Hypot and math.Pow do.
package portable
