// Package pkg holds no code; it may change at any time. It is the house: every package of Waitless is a folder of it, and its
// tests check what may import what (imports_test.go), what a pure package may use (purity_test.go) and what the tree looks
// like (tree_test.go).
//
// # Decision record
//
// Each record is a question, the options, the choice and its reason. A record is not rewritten when a choice changes: the new
// one says which it replaces.
//
// # 1. How many modules?
//
// Options: one module; one a function, so that each binary has its own go.mod; one for the pure core and one for AWS.
//
// Choice: one.
//
// Reason: the packages change together, and a change across a module border needs a release in between. What several modules
// would give - a core without the AWS SDK, a function with few dependencies - a test gives as well: it compares the modules
// that each function links with an allow-list.
//
// # 2. Where does a thing go?
//
// Options: by layer (domain, application, infrastructure); by feature; by what a package is allowed to know.
//
// Choice: by what it may know. expr, fdl, token, machine and jobs are pure: values in, values out, no clock, no randomness, no
// goroutine, no I/O. engine and resume own the loop and the outcomes and declare the ports that they need. local, aws/* and
// httpapi/* are adapters, and know none of each other. cli and aws/lambdas compose; functions/* only start. There is no
// internal folder on top, because functions/ stands beside pkg/ and could not reach into it.
//
// Reason: a decision that reads no clock can be tested in microseconds, replayed and simulated. People whose flows run on
// somebody else's engine use resume alone, so it may not know ours. The folder's name then says what one may find in it, and
// the direction of an import is a table that a test can check.
//
// # 3. How do contributors and CI get the same tools?
//
// Options: whatever is installed; a tool line in go.mod; a container image; pinned versions built into an ignored folder.
//
// Choice: the Makefile names the version of golangci-lint and builds it into .tools/; the rest is the Go tool.
//
// Reason: a tool line would put some two hundred modules of the linter into our go.sum, and into what a user downloads to
// check it. An image hides what it holds. With the version in the file's name, a new version is a missing file, so a contributor
// has it with the next make check, and CI with the same commit.
package pkg
