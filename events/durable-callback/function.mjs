// Copies a database and asks a person whether the copy is complete. The function does not run while it waits for either.
// The environment variable START_JOB is the name of the function StartJob.
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { withDurableExecution } from "@aws/durable-execution-sdk-js";

const lambda = new LambdaClient({});

export const handler = withDurableExecution(async ({ task, reviewer }, context) => {
  const copy = await context.waitForCallback("copy", async (callbackId) => {
    // The task's very first run is started once with start-replication.
    const params = { ReplicationTaskArn: task, StartReplicationTaskType: "reload-target" };
    await startJob({ kind: "dms-task", params, callbackId, timeoutSeconds: 86400 });
  });
  const approval = await context.waitForCallback("approve", async (callbackId) => {
    const { callback_url } = await startJob({ kind: "callback", callbackId, timeoutSeconds: 604800 });
    await ask(reviewer, { question: `${task} is copied. Is it well?`, callback_url });
  });
  return { copy: JSON.parse(copy), approval: JSON.parse(approval) };
});

const startJob = async (request) => {
  const { Payload, FunctionError } = await lambda.send(
    new InvokeCommand({ FunctionName: process.env.START_JOB, Payload: JSON.stringify(request) }),
  );
  const answer = JSON.parse(new TextDecoder().decode(Payload));
  if (FunctionError) throw new Error(`StartJob: ${answer.errorMessage}`);
  return answer;
};

const ask = async (reviewer, question) => {
  const asked = await fetch(reviewer, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(question),
  });
  if (!asked.ok) throw new Error(`${reviewer} answered ${asked.status}`);
};
