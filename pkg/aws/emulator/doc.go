// Package emulator runs MiniStack, an emulator of AWS, for the tests of the adapters on AWS: one
// process for each test binary, on a port of its own, with rights and signatures enforced as AWS
// does. Other servers supply the missing services and do not check rights: moto's server supplies
// the Database Migration Service, and AWS's own runner supplies durable functions. The functions on
// the emulator find all three.
//
// `make test` installs the emulator into .tools; `make unit` runs the tests that do not need an
// emulator. This package is not an API and may change between releases.
package emulator
