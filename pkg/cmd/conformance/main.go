// Command conformance reads the output of `go test -json`. It prints each package as it ends, then the cases
// of the suites that every store runs, side by side: one row for each case, one column for each store.
// It fails if a test failed, or if a store did not pass a case.
//
//	-differences prints only the cases that a store did not pass
//
// It is for this repository and may change between releases.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	r := newReport()
	r.progress = os.Stdout
	flag.BoolVar(&r.differences, "differences", false, "print only the cases that a store did not pass")
	flag.Parse()
	err := r.read(os.Stdin)
	if err == nil {
		err = r.write(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}
