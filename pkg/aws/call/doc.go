// Package call is one small client for the operations of AWS that start and describe jobs: an
// operation is data, a row. It speaks the protocols JSON 1.0 and 1.1, REST-JSON, REST-XML of S3,
// and query over the SDK's signer, retryer and credentials. Params and result are the JSON of the
// service's API, with its own names of members.
//
// In params, the names of members may be written in any case. Instants are texts of RFC 3339 in
// params and results, and blobs are in base64, whatever the protocol makes of them. Integers that
// count time stay integers.
//
// This package is not an API and may change between releases.
package call
