// Package token has the [Outcome] of an attempt, and the token with which a caller from
// outside reports it.
//
// A token authenticates itself: its text is an [ID] and a signature of the ID. Nothing
// is written to create one, and a forged or expired one is rejected without a read.
//
// It is pure. This package may change between releases.
package token
