// Package emulator runs MiniStack, an emulator of AWS, for the tests of the
// adapters on AWS: one process for each test binary, on a port of its own,
// with rights and signatures enforced as AWS does.
//
// `make test` installs the emulator into .tools; `make unit` runs the tests
// that need none. This package is for tests and may change between releases.
package emulator
