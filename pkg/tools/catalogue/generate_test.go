package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/aws/call/catalogue"
)

const file = "../../aws/call/catalogue/catalogue.bin"

// The file is that of the vendor's models and rules.
func TestCatalogueIsGenerated(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reads the models of all services, which takes seconds: run without -short")
	}
	services, err := generate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(fileOf(services), want) {
		t.Errorf("%s is not that of the models; run `make catalogue`", file)
	}
	compared := 0
	for _, each := range services {
		for _, hosts := range each.hosts {
			compared += checkHosts(t, each.name, hosts)
		}
	}
	if compared < 10_000 {
		t.Errorf("%d hosts were compared", compared)
	}
}

// checkHosts compares the hosts of an operation in all regions with those of the vendor's rules,
// and returns how many it compared.
func checkHosts(t *testing.T, folder string, want found) (compared int) {
	t.Helper()
	o, err := catalogue.Lookup(folder, want.Operations[0])
	if err != nil { // one that is not called
		return 0
	}
	for key, url := range want.URLs {
		_, region, _ := strings.Cut(key, " ")
		region, variant, _ := strings.Cut(region, " ")
		if got, ok := o.Service.URL(region, strings.Contains(variant, "fips"), strings.Contains(variant, "dual")); got != url[0] || !ok {
			t.Errorf("%s:%s: %s: %s, want %s", folder, o.Name, key, got, url[0])
		}
	}
	return len(want.URLs)
}
