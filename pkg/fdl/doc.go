// Package fdl reads flows written in FDL v1, the YAML language of Alibaba
// Serverless Workflow: [Parse] turns a definition into a [Flow] or into all
// of its problems at once, each with its position.
//
// The package is pure and knows nothing of running a flow; package machine
// does that.
package fdl
