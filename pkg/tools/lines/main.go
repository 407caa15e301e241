// Command lines counts the lines of Go below a folder that have code: not those with comments alone. Tests, test data and
// generated files are left out.
//
// usage: lines [FOLDER]
package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	packages, err := count(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lines:", err)
		os.Exit(1)
	}
	slices.SortFunc(packages, func(a, b folder) int { return cmp.Or(cmp.Compare(b.lines, a.lines), cmp.Compare(a.path, b.path)) })
	product, suites := 0, 0
	for _, p := range packages {
		kind := "product"
		if p.isSuite() {
			kind = "suite"
			suites += p.lines
		} else {
			product += p.lines
		}
		fmt.Printf("%7d  %-7s  %s\n", p.lines, kind, p.path)
	}
	fmt.Printf("%7d  product\n%7d  suites\n", product, suites)
}
