module github.com/waitless/waitless

go 1.26.0

toolchain go1.26.8

require (
	github.com/RaduBerinde/btreemap v0.0.0-20250419174037-3d62b7205d54 // the order of the keys in memory; pebble needs it in any case
	github.com/aws/aws-lambda-go v1.55.1 // the Lambda runtime's own client, for functions/
	github.com/aws/aws-sdk-go-v2 v1.47.7 // what the clients of AWS share; without its package config, which costs a cold start
	github.com/aws/aws-sdk-go-v2/config v1.33.15 // the command: the user's credentials and region, as every AWS tool finds them
	github.com/aws/aws-sdk-go-v2/credentials v1.20.15 // the role in another account, in which jobs run
	github.com/aws/aws-sdk-go-v2/feature/ec2/imds v1.20.7 // the command: not to ask a machine's role where there is none
	github.com/aws/aws-sdk-go-v2/service/cloudformation v1.82.5 // tests: stacks on the emulator
	github.com/aws/aws-sdk-go-v2/service/cloudwatch v1.75.5 // doctor: alarms, and the age of messages
	github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs v1.92.0 // tests: what the functions on the emulator log
	github.com/aws/aws-sdk-go-v2/service/databasemigrationservice v1.64.0 // tests: the emulator of DMS
	github.com/aws/aws-sdk-go-v2/service/dynamodb v1.73.1 // AWS's own client of DynamoDB
	github.com/aws/aws-sdk-go-v2/service/eventbridge v1.55.9 // the ends of executions go to an event bus
	github.com/aws/aws-sdk-go-v2/service/iam v1.64.8 // doctor: policies of roles
	github.com/aws/aws-sdk-go-v2/service/lambda v1.114.2 // flows call Lambda functions
	github.com/aws/aws-sdk-go-v2/service/s3 v1.114.8 // large values; its reason beside net/http is in pkg/aws/s3
	github.com/aws/aws-sdk-go-v2/service/scheduler v1.18.2 // timers beyond the longest delay of a message
	github.com/aws/aws-sdk-go-v2/service/secretsmanager v1.50.10 // the key that tokens are signed with
	github.com/aws/aws-sdk-go-v2/service/sfn v1.41.2 // task tokens of Step Functions
	github.com/aws/aws-sdk-go-v2/service/sns v1.47.9 // tests: topics on the emulator
	github.com/aws/aws-sdk-go-v2/service/sqs v1.52.10 // wakes and long calls are messages
	github.com/aws/aws-sdk-go-v2/service/sts v1.51.8 // the role in another account, in which jobs run
	github.com/aws/smithy-go v1.28.8 // the errors and the middleware that the clients of AWS have in common
	github.com/cockroachdb/datadriven v1.0.3 // tests: replays the scenario scripts of the machine
	github.com/cockroachdb/pebble/v2 v2.1.7 // the durable store: of the libraries measured the one with the most durable writes/s; pkg/docs/decisions/12
	github.com/creack/pty v1.1.24 // tests: a terminal for the live view
	github.com/google/go-cmp v0.7.0 // tests: shows what differs
	github.com/hashicorp/go-retryablehttp v0.7.8 // the command: tries requests to a stack again, with pauses
	github.com/hinshun/vt10x v0.0.0-20220301184237-5011da428d02 // tests: the screen behind that terminal
	github.com/mattn/go-runewidth v0.0.31 // how wide a text is on a terminal
	github.com/mattn/go-shellwords v1.0.16 // splits the user's commands as a shell would, without one
	github.com/netresearch/go-cron v0.9.1 // cron expressions of schedules, by the maintained fork of the widest used one; needs nothing else
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // tests: holds --json against its schemas
	github.com/spf13/cobra v1.10.2 // commands, flags and their help; the widest used one
	github.com/spf13/pflag v1.0.9 // cobra's flags, to suggest the one that was meant
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1 // signatures of callbacks, by those who define them; needs nothing else
	go.opentelemetry.io/collector/pdata v1.2.0 // tests: decodes spans as the collector of OpenTelemetry does; this release changes no version that is shipped
	go.yaml.in/yaml/v4 v4.0.0 // YAML with positions and the text of scalars; the maintained line of the widest used one
	golang.org/x/term v0.47.0 // tells terminals and their size
	golang.org/x/tools v0.52.0 // tests: cases of named sections (txtar), and the calls of AWS clients in the code (go/packages)
)

require (
	github.com/DataDog/zstd v1.5.7 // indirect
	github.com/RaduBerinde/axisds v0.1.0 // indirect
	github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream v1.7.26 // indirect
	github.com/aws/aws-sdk-go-v2/internal/configsources v1.5.10 // indirect
	github.com/aws/aws-sdk-go-v2/internal/endpoints/v2 v2.8.10 // indirect
	github.com/aws/aws-sdk-go-v2/internal/v4a v1.5.10 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/accept-encoding v1.13.24 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/checksum v1.11.11 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/endpoint-discovery v1.13.10 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/presigned-url v1.14.10 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/s3shared v1.20.10 // indirect
	github.com/aws/aws-sdk-go-v2/service/signin v1.12.3 // indirect
	github.com/aws/aws-sdk-go-v2/service/sso v1.39.3 // indirect
	github.com/aws/aws-sdk-go-v2/service/ssooidc v1.44.3 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/cockroachdb/crlib v0.0.0-20260823170307-44ef894cf300 // indirect
	github.com/cockroachdb/errors v1.14.0 // indirect
	github.com/cockroachdb/logtags v0.0.0-20241215232642-bb51bb14a506 // indirect
	github.com/cockroachdb/redact v1.1.8 // indirect
	github.com/cockroachdb/swiss v0.0.0-20260820225851-333444432258 // indirect
	github.com/cockroachdb/tokenbucket v0.0.0-20250429170803-42689b6311bb // indirect
	github.com/getsentry/sentry-go v0.50.0 // indirect
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/golang/snappy v1.0.0 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/json-iterator/go v1.1.12 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/kr/pretty v0.3.1 // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/minio/minlz v1.2.3 // indirect
	github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd // indirect
	github.com/modern-go/reflect2 v1.0.2 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/pandatix/go-abnf v0.5.3 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/pmezard/go-difflib v1.0.1-0.20181226105442-5d4384ee4fb2 // indirect
	github.com/prometheus/client_golang v1.25.0 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.73.1 // indirect
	github.com/prometheus/procfs v0.23.0 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	golang.org/x/exp v0.0.0-20261014143641-f0251eb4aa3e // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261104224025-d1e00e9f33ab // indirect
	google.golang.org/grpc v1.85.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
