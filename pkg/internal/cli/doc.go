// Package cli is the command line of Waitless. [Command] is the whole program, so that tests start
// the same program as users.
//
// The commands, their exit codes and the schemas of their JSON are promises; the package is not.
package cli
