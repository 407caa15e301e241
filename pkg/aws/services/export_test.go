package services

// SessionPolicy is for tests.
var SessionPolicy = sessionPolicy
