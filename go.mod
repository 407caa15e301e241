module github.com/waitless/waitless

go 1.26.0

require (
	github.com/aws/aws-lambda-go v1.55.1 // the Lambda runtime's own client, for functions/
	github.com/cockroachdb/datadriven v1.0.3 // tests: replays the scenario scripts of the machine
	github.com/creack/pty v1.1.24 // tests: a terminal for the live view
	github.com/google/go-cmp v0.7.0 // tests: shows what differs
	github.com/hinshun/vt10x v0.0.0-20220301184237-5011da428d02 // tests: the screen behind that terminal
	github.com/mattn/go-runewidth v0.0.31 // how wide a text is on a terminal
	github.com/mattn/go-shellwords v1.0.16 // splits the user's commands as a shell would, without one
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // tests: holds --json against its schemas
	github.com/spf13/cobra v1.10.2 // commands, flags and their help; the widest used one
	github.com/spf13/pflag v1.0.9 // cobra's flags, to suggest the one that was meant
	go.yaml.in/yaml/v4 v4.0.0 // YAML with positions and the text of scalars; the maintained line of the widest used one
	golang.org/x/term v0.47.0 // tells terminals and their size
)

require (
	github.com/clipperhouse/uax29/v2 v2.2.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.14.0 // indirect
)
