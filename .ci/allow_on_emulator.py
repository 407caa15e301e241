"""Give roles of a stack the rights that they need on an emulator only, and the denials that it knows under another name.

Each stands in for a statement of the role in the template, and has its name.

usage: allow_on_emulator.py STACK ENDPOINT
"""

import json
import sys

import boto3

stack, endpoint = sys.argv[1:]
if not endpoint.startswith("http://127.0.0.1:"):
    sys.exit(f"{endpoint} is not an emulator on this machine")

# The emulator takes each schedule for one of the group "default".
schedules = "arn:aws:scheduler:*:*:schedule/default/*"
# By the name of the statement in the template: actions, and the resource if it is another one.
stand_ins = {
    "StartTimers": (["scheduler:CreateSchedule"], schedules),
    "SetSchedules": (["scheduler:CreateSchedule", "scheduler:UpdateSchedule", "scheduler:DeleteSchedule"], schedules),
    "DeleteSchedules": (["scheduler:DeleteSchedule"], schedules),
    # It does not know the state machine of a task token.
    "AnswerTasks": (["states:SendTaskSuccess", "states:SendTaskFailure", "states:SendTaskHeartbeat"], "*"),
    # On AWS sqs:SendMessage allows batches.
    "SendWakes": (["sqs:SendMessageBatch"], None),
    # The same for sqs:ChangeMessageVisibility.
    "ReceiveDeadWakes": (["sqs:ChangeMessageVisibilityBatch"], None),
}


# A denial of what the emulator names in another way.
denials = {
    # AWS begins the names of these groups with the stack's.
    "NeverLogs": f"arn:aws:logs:*:*:log-group:/aws/cloudformation/{stack}/*",
}


def stand_ins_of(role):
    for policy in role.policies.all():
        if policy.name == "emulator":
            continue
        for statement in policy.policy_document["Statement"]:
            if statement.get("Sid") in denials:
                yield {**statement, "Resource": denials[statement["Sid"]]}
            if statement.get("Sid") in stand_ins:
                actions, resource = stand_ins[statement["Sid"]]
                yield {**statement, "Action": actions, "Resource": resource or statement["Resource"]}


iam = boto3.resource("iam", endpoint_url=endpoint)
for resource in boto3.resource("cloudformation", endpoint_url=endpoint).Stack(stack).resource_summaries.all():
    if resource.resource_type == "AWS::IAM::Role":
        role = iam.Role(resource.physical_resource_id)
        if statements := list(stand_ins_of(role)):
            role.Policy("emulator").put(PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": statements}))
