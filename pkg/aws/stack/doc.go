// Package stack holds the tests of the deployed stack: template.yaml is built
// and deployed to an emulator of AWS that enforces rights, and the samples run
// there through the command, each function under its own role. A second stack
// has workers that are killed (TestFaults, with the flag -faults). It has no
// other code.
package stack
