// Package document reads the text of a definition, YAML or JSON, into nodes that know their line
// and column. All front ends read with it.
//
// The package is pure. This package is not an API and may change between releases.
package document
