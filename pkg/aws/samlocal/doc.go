// Package samlocal holds the tests of the functions in containers: template.yaml
// is built, `sam local invoke` starts each function with its events/*/*.json, and
// `sam local start-api` serves both APIs. Tables and queues are a stack's on the
// emulator. It has no other code; `make test-sam` runs the tests, which need Docker.
//
// The image is not Lambda's, which would have to be pulled, but one that has
// busybox alone: our functions are static binaries, and `sam local` brings the
// Runtime API.
package samlocal
