package machine

// Sealed makes a log item of the body that an encoder could have written, with
// that format and the right checksum, for tests of what lies behind them.
func Sealed(format byte, body []byte) []byte { return sealed(append([]byte{format}, body...)) }
