"""Print the environment variables of a stack's functions as exports of a shell.

usage: local_env.py STACK
"""

import shlex
import sys

import boto3

resources = boto3.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=sys.argv[1])
client, variables = boto3.client("lambda"), {}
for page in resources:
    for resource in page["StackResourceSummaries"]:
        if resource["ResourceType"] == "AWS::Lambda::Function":
            found = client.get_function_configuration(FunctionName=resource["PhysicalResourceId"])
            variables |= found.get("Environment", {}).get("Variables", {})
for name, value in sorted(variables.items()):
    if value:
        print(f"export {name}={shlex.quote(value)}")
