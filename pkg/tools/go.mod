// This module has programs for those who work on Waitless. It is not part of the product.
module github.com/waitless/waitless/pkg/tools

go 1.26.0

toolchain go1.26.8

require (
	github.com/CycloneDX/cyclonedx-go v0.12.0 // the list of linked modules in a release, by those who define its form
	github.com/aws/aws-sdk-go-v2 v1.47.7 // signs requests to the API of state machines
	github.com/google/go-cmp v0.7.0 // tests: shows what differs
	github.com/waitless/waitless v0.0.0
	golang.org/x/mod v0.42.0 // tests: the archive of the module, as a module proxy has it
)

require golang.org/x/tools v0.52.0

require (
	github.com/RaduBerinde/btreemap v0.0.0-20250419174037-3d62b7205d54 // indirect
	github.com/aws/smithy-go v1.28.8 // indirect
	github.com/mattn/go-shellwords v1.0.16 // indirect
	go.yaml.in/yaml/v4 v4.0.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
)

replace github.com/waitless/waitless => ../..
