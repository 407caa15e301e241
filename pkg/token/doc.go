// Package token holds what ends an attempt, its [Outcome], and the token by
// which somebody outside brings it.
//
// A token authenticates itself: its text is an [ID] and a signature of it, so
// nothing is written to open one, and one that is forged or expired is refused
// without a read.
//
// It is pure. This package may change between releases.
package token
