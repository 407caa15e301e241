// Command catalogue writes the catalogue of services, pkg/aws/call/catalogue/catalogue.bin, from
// the vendor's models and rules.
//
// usage: catalogue FILE
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: catalogue FILE")
		os.Exit(2)
	}
	services, err := generate(context.Background())
	if err == nil {
		err = os.WriteFile(os.Args[1], fileOf(services), 0o644) //nolint:gosec // G306: a file of the repository
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "catalogue:", err)
		os.Exit(1)
	}
}
