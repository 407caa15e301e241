// Package jsonata compiles and evaluates expressions of the JSONata language, version 2.
//
// An evaluation is pure: the same expression, input, bindings and limits give the same result or
// the same error on every machine. The caller gives the clock and the random numbers. Limits bound
// steps, depth and the size of the result, not time.
//
// The language is complete: path steps with predicates, wildcards and parents, grouping, order-by,
// transforms, lambdas with closures and signatures, partial application, tail calls in a bounded
// stack, and the library of functions with their picture strings. It differs from the reference
// implementation in these points:
//
//   - Objects of the input have their members sorted by key, as package value holds them. Objects
//     that the expression constructs keep their order until they leave the evaluation.
//   - Regular expressions have the syntax of Go's engine, so its run time is linear. Look-around and
//     back-references are errors of the compilation.
//   - Numbers are doubles. A number of the input that the expression does not compute with keeps
//     its text.
//   - Texts are UTF-8, so a half of a surrogate pair becomes U+FFFD.
//   - Functions have no JSON. They are left out of objects and become null in arrays.
//   - Timestamps without a time zone are in UTC.
//
// This package may change between releases.
package jsonata
