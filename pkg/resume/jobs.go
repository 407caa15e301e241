package resume

import (
	"time"
)

// JobsConfig is what [Jobs] works with.
type JobsConfig struct {
	// Tokens closes the tokens of those who wait, and signs those of foreign
	// waits. It is required.
	Tokens *Tokens
	// Outcomes, Wakes, Rendezvous, Services and Polls are required where their
	// use cases are used.
	Outcomes   Outcomes
	Wakes      Wakes
	Rendezvous Rendezvous
	Services   Services
	Polls      Polls
	// Foreign is nil where nobody else's engine is served.
	Foreign ForeignWaits
	// Account and Region are the caller's, for keys that no answer tells.
	Account, Region string
	// CallbackBase is where callbacks arrive: "https://host"; empty for nowhere.
	CallbackBase string
	Now          func() time.Time
	// Random makes the random part of a simulated job's id; nil means crypto/rand.
	Random func() [10]byte
}

// Jobs starts jobs, tells how they are, and brings those who wait for one its
// end. It is safe for concurrent use.
type Jobs struct{ config JobsConfig }

// NewJobs makes Jobs.
func NewJobs(config JobsConfig) *Jobs { return &Jobs{config} }
