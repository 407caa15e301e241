package engine

// For the tests of the defaults.
var (
	RandomText = randomText
)

// CallbackBase returns the address in the form that is used.
func (w *Worker) CallbackBase() string { return w.core.CallbackBase }
