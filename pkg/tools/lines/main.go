// Command lines counts the lines of Go below a folder that have code: not those with comments
// alone. Tests, test data and generated files are left out.
//
// With -helpers it lists the short functions of the product that have one use instead.
//
// usage: lines [-helpers] [FOLDER]
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	listHelpers := flag.Bool("helpers", false, "list the short functions of the product that have one use")
	flag.Parse()
	root := cmp.Or(flag.Arg(0), ".")
	if *listHelpers {
		root, err := filepath.Abs(root)
		if err != nil {
			fmt.Fprintln(os.Stderr, "lines:", err)
			os.Exit(1)
		}
		found, err := helpers(root)
		if err != nil {
			fmt.Fprintln(os.Stderr, "lines:", err)
			os.Exit(1)
		}
		for _, h := range found {
			fmt.Printf("%s: %s\n", h.at, h.name)
		}
		return
	}
	packages, err := count(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lines:", err)
		os.Exit(1)
	}
	slices.SortFunc(packages, func(a, b folder) int { return cmp.Or(cmp.Compare(b.lines, a.lines), cmp.Compare(a.path, b.path)) })
	sums := map[string]int{}
	for _, p := range packages {
		sums[p.kind()] += p.lines
		fmt.Printf("%7d  %-7s  %s\n", p.lines, p.kind(), p.path)
	}
	fmt.Printf("%7d  product\n%7d  suites\n%7d  modules beside the product\n", sums["product"], sums["suite"], sums["module"])
}
