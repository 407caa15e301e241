#!/bin/sh
# Stands in for the functions of poller.asl.json: a job succeeds 25 seconds after it was submitted. The id of a job has the
# second of the day at which it began.
second=$(echo "$WAITLESS_NOW" | awk -F '[T:Z.]' '{print $2 * 3600 + $3 * 60 + $4}')
case $1 in
submit) echo "\"job-$second\"" ;;
check)
  began=$(tr -dc 0-9)
  if [ $(((second - began + 86400) % 86400)) -lt 25 ]; then echo '"RUNNING"'; else echo '"SUCCEEDED"'; fi
  ;;
esac
