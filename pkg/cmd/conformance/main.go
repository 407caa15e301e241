// Command conformance reads what `go test -json` says of the packages of all
// stores, and prints the cases of the suites side by side: one row a case, one
// column a store. A test that failed, or a case that not every store passed,
// makes it fail.
//
// It is for this repository and may change between releases.
package main

import (
	"fmt"
	"os"
)

func main() {
	r := newReport()
	err := r.read(os.Stdin)
	if err == nil {
		err = r.write(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}
