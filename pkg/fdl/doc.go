// Package fdl reads flows written in FDL v1, the YAML language of Alibaba Serverless Workflow.
// [Parse] returns a [flow.Flow], or all problems of the definition with their positions.
//
// The extensions of the language are listed in [flow.Flow.Extensions] of a flow that uses them:
//
//   - actions and resources of AWS, which start a job (see package jobs), and pattern sync for them
//   - pattern waitForCondition
//   - heartbeatSeconds, atMostOnce, stopJob and signed
//   - steps of a catch
//   - maxConcurrency of a foreach
//   - $context.task.idempotencyKey and $context.task.callbackUrl
//
// The package is pure. Package machine runs flows.
package fdl
