// Package samlocal has the tests of the functions in containers, and no other code: a package that
// is named in a build needs a file that is not a test.
//
// This package is not an API and may change between releases.
package samlocal
