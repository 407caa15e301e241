// Package services starts and describes jobs by the rows of package call.
//
// What goes in and comes out is the JSON of the service's API, as its
// documentation and the AWS CLI have it; the names of members may be written in
// any case. Instants come out as texts of RFC 3339, unless the service itself
// counts milliseconds.
//
// This package may change between releases.
package services
