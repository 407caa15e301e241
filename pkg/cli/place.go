package cli

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/waitless/waitless/pkg/local"
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
// store. A file that the user did not name decides on no endpoint and no stack.
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
	if p := placeFrom(c.Getenv); p != (place{}) {
		return p, nil
	}
	switch p := placeFrom(c.ofFile); {
	case p.endpoint != "":
		return p, c.namedByUser(what, "endpoint "+local.Hidden(p.endpoint), "--endpoint "+local.Hidden(p.endpoint))
	case p.stack != "":
		return p, c.namedByUser(what, "stack "+p.stack, "--stack "+p.stack)
	case p.store != "":
		return p, nil
	}
	return place{store: defaultStore}, nil
}

// placeFrom is the place that a source of settings names, the zero place for none.
func placeFrom(said func(variable string) string) place {
	endpoint, stack, store := said("WAITLESS_ENDPOINT"), said("WAITLESS_STACK"), said("WAITLESS_STORE")
	switch {
	case endpoint != "":
		return place{endpoint: endpoint}
	case stack != "":
		return place{stack: stack}
	}
	return place{store: store}
}

// namedByUser returns an error if the settings were found in the working directory: whoever
// wrote a checked-out folder does not decide where credentials and tokens are sent.
func (c Command) namedByUser(what, setting, try string) error {
	if c.settings.named {
		return nil
	}
	why := c.settings.path + " names " + setting + "; a file that was only found in the working directory does not decide where credentials and tokens are sent"
	return usageError(what, why, try+", or --config "+c.settings.path)
}
