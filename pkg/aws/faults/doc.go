// Package faults has what tests need to inject faults between the adapters and AWS: a list of all
// call sites of AWS clients, a proxy that injects a fault into a chosen request, and a table of
// what becomes of each.
//
// This package is not an API and may change between releases.
package faults
