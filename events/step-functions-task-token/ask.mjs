// Asks a person a question. A request to the URL resumes the waiting state; the token of the state is not sent.
// The environment variable START_JOB is the name of the function StartJob.
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";

const lambda = new LambdaClient({});

export const handler = async ({ taskToken, reviewer, question }) => {
  const { callback_url } = await startJob({ kind: "callback", taskToken, timeoutSeconds: 604800 });
  const asked = await fetch(reviewer, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ question, callback_url }),
  });
  if (!asked.ok) throw new Error(`${reviewer} answered ${asked.status}`);
};

const startJob = async (request) => {
  const { Payload, FunctionError } = await lambda.send(
    new InvokeCommand({ FunctionName: process.env.START_JOB, Payload: JSON.stringify(request) }),
  );
  const answer = JSON.parse(new TextDecoder().decode(Payload));
  if (FunctionError) throw new Error(`StartJob: ${answer.errorMessage}`);
  return answer;
};
