// Package durabletest has a disk in memory that forgets: a [durable.FS] that knows which bytes and names were
// synced, and shows what a power cut would leave. Tests of whatever saves state run on it, with
// [WithHooks] stopping them after each operation in turn.
//
// It is stricter than most disks (each unsynced name survives or not on its own), so what holds here holds
// there. It keeps no permissions, times or links other than hard ones.
package durabletest
