// Package pkg contains no code: each package of Waitless is a folder in it. Its tests check what
// each package may import (imports_test.go), what a pure package may use (purity_test.go), which
// files the tree has (tree_test.go), and which phrases are no longer written (prose_test.go).
//
// docs/decisions has the decisions of the project and their reasons.
package pkg
