// Package asl reads flows in the Amazon States Language, the JSON language of AWS Step Functions.
// It produces a [flow.Flow], as every front end does: states are steps, Next is the next step of a
// series, and the data flow of a state is its [flow.Data].
//
// The current value of a series and its variables are the members data and vars of the local
// value.
//
// The package is pure.
package asl
