// Package sim searches for what the engine's contract does not survive: it
// runs packages engine and resume over a store in memory, in virtual time, with
// one thing at a time and everything that goes wrong drawn from a seed.
//
// Every effect of a worker, of a closer of a token and of a client may
// not happen, may happen without an answer, may happen late, and may be the
// last one before death. Messages come twice, late and in another order, and
// some are forged. Where there is only one process, it ends with all that
// it has in its memory. A definition is gone for a while or for good. The same
// seed always gives the same run, down to its trace.
//
// In some runs a kind of effects fails for long, also for ever. Then wakes are dead-lettered, and a
// janitor sends each again, twice, and then abandons what depends on it. In some runs all wakes are
// lost, and clients rearm the executions, or sweeps of the janitor have to find those that are
// overdue. Half of the runs with sweeps have an outage, too.
//
// Flows have forks and sub-flows: each lane has a log of its own, each sub-flow is an execution of
// its own, and the invariants read all logs.
//
// What has to hold of every run, whatever went wrong, are the invariants; a
// [Violation] names one.
package sim
