// Package emulator runs MiniStack, an emulator of AWS, for the tests of the
// adapters on AWS: one process for each test binary, on a port of its own,
// with rights and signatures enforced as AWS does. What it lacks is played by
// others, who ask for no rights: the Database Migration Service by moto's
// server, durable functions by AWS's own runner of them. The functions on the
// emulator find all three.
//
// `make test` installs the emulator into .tools; `make unit` runs the tests
// that need none. This package is for tests and may change between releases.
package emulator
