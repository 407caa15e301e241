package s3

// TagOf is tagOf, for the tests.
var TagOf = tagOf
