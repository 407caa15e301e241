package cli

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/waitless/waitless/pkg/cli/failure"
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
// with settings. Each may name one place. A file that the user did not name
// decides on no endpoint and no stack.
func (c Command) locate(flags place) (place, error) {
	at, err := one(flags, [...]string{"--store", "--endpoint", "--stack"}, "%s alone")
	if err != nil || at != (place{}) {
		return at, err
	}
	variables := [...]string{"WAITLESS_STORE", "WAITLESS_ENDPOINT", "WAITLESS_STACK"}
	at, err = one(placeFrom(c.Getenv), variables, "unset all of them but %s, or name the place by a flag")
	if err != nil || at != (place{}) {
		return at, err
	}
	switch p := placeFrom(c.ofFile); { // which names one place
	case p.endpoint != "":
		return p, c.namedByUser("endpoint "+local.Hidden(p.endpoint), "--endpoint "+local.Hidden(p.endpoint))
	case p.stack != "":
		return p, c.namedByUser("stack "+p.stack, "--stack "+p.stack)
	case p.store != "":
		return p, nil
	}
	return place{store: defaultStore}, nil
}

// placeFrom is the place that a source of settings names, the zero place for none.
func placeFrom(value func(variable string) string) place {
	return place{store: value("WAITLESS_STORE"), endpoint: value("WAITLESS_ENDPOINT"), stack: value("WAITLESS_STACK")}
}

// one refuses a place that is several, whose parts have these names.
func one(p place, names [3]string, try string) (place, error) {
	p.config = ""
	var given []string
	for i, value := range []string{p.store, p.endpoint, p.stack} {
		if value != "" {
			given = append(given, names[i])
		}
	}
	if len(given) > 1 {
		return place{}, failure.Usage(fmt.Sprintf("%s and %s are two places", given[0], given[1]), fmt.Sprintf(try, given[len(given)-1]))
	}
	return p, nil
}

// namedByUser returns an error if the settings were found in the working directory: whoever
// wrote a checked-out folder does not decide where credentials and tokens are sent.
func (c Command) namedByUser(setting, try string) error {
	if c.settings.named {
		return nil
	}
	why := c.settings.path + " names " + setting + "; a file that was only found in the working directory does not decide where credentials and tokens are sent"
	return failure.Usage(why, try+", or --config "+c.settings.path)
}
