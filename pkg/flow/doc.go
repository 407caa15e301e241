// Package flow has the definition of a flow without a language, which package machine runs. A front
// end, such as package fdl, makes a [Flow] out of a text.
//
// The package is pure.
package flow
