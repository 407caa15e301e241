// Package services starts and describes jobs by the rows of package call.
//
// Params and responses are the JSON of the service's API, as in its documentation and the AWS CLI.
// Member names may be written in any case. Instants in responses are RFC 3339 texts, unless the
// service itself counts milliseconds.
//
// This package is not an API and may change between releases.
package services
