"""Give roles of a stack the rights that they need on an emulator only.

The emulator does not know the state machine of a task token, and takes each schedule for one of the group "default".

usage: allow_on_emulator.py STACK ENDPOINT
"""

import json
import sys

import boto3

stack, endpoint = sys.argv[1:]
if not endpoint.startswith("http://127.0.0.1:"):
    sys.exit(f"{endpoint} is not an emulator on this machine")
roles = {
    r.logical_resource_id: r.physical_resource_id
    for r in boto3.resource("cloudformation", endpoint_url=endpoint).Stack(stack).resource_summaries.all()
}
schedules = ["scheduler:CreateSchedule", "scheduler:UpdateSchedule", "scheduler:DeleteSchedule"], "arn:aws:scheduler:*:*:schedule/default/*"
tokens = ["states:SendTaskSuccess", "states:SendTaskFailure", "states:SendTaskHeartbeat"], "*"
for role, (actions, resource) in {"ApiRole": schedules, "FnfRole": schedules, "TaskRunnerRole": tokens}.items():
    if role in roles:
        document = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": actions, "Resource": resource}]}
        boto3.client("iam", endpoint_url=endpoint).put_role_policy(
            RoleName=roles[role], PolicyName="emulator", PolicyDocument=json.dumps(document)
        )
