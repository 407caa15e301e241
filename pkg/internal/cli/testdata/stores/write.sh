#!/bin/sh
# Writes a store with everything in it that an execution can be in the middle
# of: sh write.sh PROGRAM OUT, with PROGRAM built at the commit in question.
# OUT gets store.zip and what the program printed: the texts of the tokens, and
# the histories. The list of the executions goes to standard output last.
set -eu
program=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
store=$out/store
flow=$here/flow.yaml
NO_COLOR=1
export NO_COLOR

large=
for _ in 1 2 3 4 5 6; do large=${large}a-text-that-is-held-by-reference-beyond-256-bytes-; done

# start NAME INPUT
start() { "$program" start "$flow" --store "$store" --name "$1" --input "$2"; }

# awaits NAME TYPE: until the history of NAME has an event of that type.
awaits() {
	until "$program" history "kept/$1" --store "$store" | grep -q " $2 "; do sleep 0.1; done
}

# token NAME: the text of the token that the execution waits with.
token() {
	"$program" history "kept/$1" --store "$store" --unmask | sed -n 's/.*"taskToken":"\([^"]*\)".*/\1/p' | head -1
}

# tasks HOW NAME INPUT: runs an execution, and all others of the store beside it.
began=$out/began
tasks() {
	how=$1 && shift
	$how "$program" run "$flow" --store "$store" --name "$1" --input "$2" --task "Call=exec:sh -c 'echo call >> $began; exec sleep 5'" \
		--task "Long=exec:sh -c 'echo long >> $began; exec sleep 5'" --task "Once=exec:sh -c 'echo once >> $began; exec sleep 5'"
}

tasks env succeeded '{"what":"pass","number":12345678901234567890.10}'
tasks env succeeded-large '{"what":"echo","text":"'"$large"'","seconds":1}'
tasks env failed '{"what":"fail"}' || test $? = 1

# Whoever runs the next one works on all others until it is killed.
tasks exec callback '{"what":"callback"}' >/dev/null 2>&1 &
until test -S "$store/socket"; do sleep 0.1; done
start callback-large '{"what":"callback","text":"'"$large"'"}'
start answered '{"what":"callback","text":"'"$large"'"}'
start stopping '{"what":"callback"}'
start heartbeat '{"what":"heartbeat"}'
start silent '{"what":"heartbeat"}'
start sleeping '{"what":"wait","seconds":86400}'
start sleeping-large '{"what":"echo","text":"'"$large"'","seconds":86400}'
start stopped '{"what":"wait","seconds":86400}'
start stopped-callback '{"what":"callback"}'
for name in callback callback-large answered stopping heartbeat silent stopped-callback; do awaits $name TaskSubmitted; done
for name in sleeping sleeping-large stopped; do awaits $name StepStarted; done
"$program" stop kept/stopped --store "$store" --cause 'no longer needed'
"$program" stop kept/stopped-callback --store "$store" --error Withdrawn --cause 'no longer needed'
awaits stopped ExecutionStopped
awaits stopped-callback ExecutionStopped
"$program" tokens heartbeat "$(token heartbeat)" --store "$store"
for name in callback callback-large answered stopping heartbeat silent; do echo "$name $(token $name)"; done >"$out/tokens"

# It is killed while a long call is under way beside one that must not be
# repeated, and the next one while it makes a short call.
start long '{"what":"long"}'
start once '{"what":"once"}'
for what in long once; do until grep -qs $what "$began"; do sleep 0.1; done; done
kill -9 $!
wait $! || true
tasks exec call '{"what":"call"}' >/dev/null 2>&1 &
until grep -qs call "$began"; do sleep 0.1; done
kill -9 $!
wait $! || true

# Nobody works on the store from now on.
"$program" tokens succeed "$(sed -n 's/^answered //p' "$out/tokens")" --store "$store" --output '{"status":"while nothing ran"}'
"$program" stop kept/stopping --store "$store" --cause 'while nothing ran'
start starting '{"what":"pass","number":1}'
"$program" list --store "$store"
for name in call starting once long stopped-callback stopped sleeping-large sleeping silent heartbeat stopping answered \
	callback-large callback failed succeeded-large succeeded; do
	echo "kept/$name"
	# It follows an execution that goes on until it is stopped.
	timeout 2 "$program" history "kept/$name" --store "$store" --follow --json || test $? = 124 -o $? = 130
done >"$out/histories"
rm "$store/socket"
(cd "$store" && zip -q -X -r ../store.zip .)
rm -r "$store" "$began"
