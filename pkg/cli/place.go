package cli

import (
	"fmt"

	"github.com/spf13/pflag"
)

// place is where executions are: in the store of a folder, or on a stack that
// is found by its name or by the URL of its API.
type place struct {
	store, endpoint, stack string
	// config is the file with the settings that name it where flags and
	// environment do not.
	config string
}

func (p *place) register(flags *pflag.FlagSet) {
	flags.StringVar(&p.store, "store", "", "the folder of the store (default: WAITLESS_STORE or .waitless)")
	flags.StringVar(&p.endpoint, "endpoint", "", "the URL of a deployed stack's API, instead of a store (default: WAITLESS_ENDPOINT)")
	flags.StringVar(&p.stack, "stack", "", "the name of a deployed stack, instead of a store (default: WAITLESS_STACK)")
	registerConfig(flags, &p.config)
}

func (p place) onStack() bool { return p.endpoint != "" || p.stack != "" }

// flags are the flags that name the place again.
func (p place) flags() string {
	switch {
	case p.endpoint != "":
		return " --endpoint " + p.endpoint
	case p.stack != "":
		return " --stack " + p.stack
	case p.store != "" && p.store != defaultStore:
		return " --store " + p.store
	}
	return ""
}

// locate is the place that the flags name, else the environment, else the file
// with settings. In each an endpoint goes before a stack, and a stack before a
// store.
func (c Command) locate(what string, flags place) (place, error) {
	var given []string
	for _, f := range []struct{ name, value string }{{"--store", flags.store}, {"--endpoint", flags.endpoint}, {"--stack", flags.stack}} {
		if f.value != "" {
			given = append(given, f.name)
		}
	}
	switch {
	case len(given) > 1:
		return place{}, usageError(what, fmt.Sprintf("%s and %s are two places", given[0], given[1]), given[len(given)-1]+" alone")
	case len(given) == 1:
		return flags, nil
	}
	for _, said := range []func(string) string{c.Getenv, c.ofFile} {
		endpoint, stack, store := said("WAITLESS_ENDPOINT"), said("WAITLESS_STACK"), said("WAITLESS_STORE")
		switch {
		case endpoint != "":
			return place{endpoint: endpoint}, nil
		case stack != "":
			return place{stack: stack}, nil
		case store != "":
			return place{store: store}, nil
		}
	}
	return place{store: defaultStore}, nil
}
