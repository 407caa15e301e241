package machine

// Sealed makes a log item of the body that an encoder could have written, with
// the right format and checksum, for tests of what lies behind them.
func Sealed(body []byte) []byte { return sealed(append([]byte{Format}, body...)) }
