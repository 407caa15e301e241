// Package fdl reads flows written in FDL v1, the YAML language of Alibaba
// Serverless Workflow: [Parse] turns a definition into a [Flow] or into all
// of its problems at once, each with its position.
//
// What vendors' documents do not have: a task's action names a service of AWS
// and starts a job there (the table is package jobs), pattern sync waits for its
// end, and so it does for a DMS task or a state machine as the resourceArn;
// pattern waitForCondition; heartbeatSeconds, atMostOnce and signed; steps of a
// catch; $context.task.idempotencyKey and $context.task.callbackUrl. Where a flow
// uses them [Flow.Extensions] says.
//
// The package is pure and knows nothing of running a flow; package machine
// does that.
package fdl
