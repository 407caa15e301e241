// Package pkg holds no code; it may change at any time. It is the house: every package of Waitless is a folder of it, and its
// tests check what may import what (imports_test.go), what a pure package may use (purity_test.go) and what the tree looks
// like (tree_test.go).
//
// # Decision record
//
// Each record is a question, the options, the choice and its reason. A record is not rewritten when a choice changes: the new
// one says which it replaces.
//
// # 1. How many modules?
//
// Options: one module; one a function, so that each binary has its own go.mod; one for the pure core and one for AWS.
//
// Choice: one.
//
// Reason: the packages change together, and a change across a module border needs a release in between. What several modules
// would give - a core without the AWS SDK, a function with few dependencies - a test gives as well: it compares the modules
// that each function links with an allow-list.
//
// # 2. Where does a thing go?
//
// Options: by layer (domain, application, infrastructure); by feature; by what a package is allowed to know.
//
// Choice: by what it may know. value, expr, fdl, token, machine and jobs are pure: values in, values out, no clock, no randomness, no
// goroutine, no I/O. engine and resume own the loop and the outcomes and declare the ports that they need. local, aws/* and
// httpapi/* are adapters, and know none of each other. cli and aws/lambdas compose; functions/* only start. There is no
// internal folder on top, because functions/ stands beside pkg/ and could not reach into it.
//
// Reason: a decision that reads no clock can be tested in microseconds, replayed and simulated. People whose flows run on
// somebody else's engine use resume alone, so it may not know ours. The folder's name then says what one may find in it, and
// the direction of an import is a table that a test can check.
//
// # 3. How do contributors and CI get the same tools?
//
// Options: whatever is installed; a tool line in go.mod; a container image; pinned versions built into an ignored folder.
//
// Choice: the Makefile names the version of golangci-lint and builds it into .tools/; the rest is the Go tool.
//
// Reason: a tool line would put some two hundred modules of the linter into our go.sum, and into what a user downloads to
// check it. An image hides what it holds. With the version in the file's name, a new version is a missing file, so a contributor
// has it with the next make check, and CI with the same commit.
//
// # 4. What evaluates conditions and paths?
//
// Options: a library for expressions (gval with jsonpath, expr, CEL were tried); a parser of our own.
//
// Choice: a parser of our own, five levels of recursive descent in package expr.
//
// Reason: the language decides that a missing key makes every comparison false, that different types are unequal and never an
// error, and that numbers compare as decimals. gval makes a missing key an error, finds 3 equal to "3" and orders texts against
// numbers; expr makes an order of a missing key an error; CEL makes both an error; all three round 9007199254740993. Each
// would need its operators replaced, and none gives the place of an error within a flow.
//
// # 5. What is a value?
//
// Options: any, as encoding/json makes it; raw JSON text; a type of our own.
//
// Choice: [value.Value], an immutable tree behind one pointer, objects sorted by key, numbers as they were written, each node
// knowing its size as JSON.
//
// Reason: a mapping then shares what it passes on, a limit of size costs nothing to check, equal values render equally, and
// the log writes a value that state and history share once. Nobody can change a value that somebody else still holds.
//
// # 6. Which form has a log item?
//
// Options: JSON with short keys; a library for a binary form; a binary form of our own.
//
// Choice: our own (value.Encoder, machine.Encode): numbers of variable length, values by reference to where they stand first,
// a format number in front, a checksum behind.
//
// Reason: one item is written for each turn of a loop, and DynamoDB bills by the kilobyte. The item of a poll takes about 540
// bytes; as JSON with short keys it took 1,950. Libraries have the numbers but not the references, which are most of it.
//
// # 7. Where is an outcome declared, and may token know values?
//
// Options: token with raw JSON; token importing value; outcome in machine.
//
// Choice: package token, which imports value.
//
// Reason: machine and resume both need it and may not know each other. Outputs are compared ("the same again?") and measured
// before they are kept, which is what a value is for.
//
// # 8. What does a step's history look like where the vendor is silent?
//
// Choice: pass, choice and succeed: StepEntered, StepExited; wait: StepEntered, StepStarted, StepSucceeded, StepExited; task:
// StepEntered, TaskScheduled, TaskStarted, TaskSucceeded, StepExited; a failing step ends with StepFailed, and so does each
// choice around it, then ExecutionFailed. The detail of StepStarted has the instant "until". ScheduleEventId is the event
// before, as long as steps run one after the other. The goto of a branch goes before the end of its choice.
//
// # 9. How are long calls made in one process?
//
// Options: as the design has it, beside the workers with a token; awaited like short ones.
//
// Choice: beside the workers. A command may take 15 minutes, so it is a token task; what is built in is a direct call.
//
// Reason: it is the same path as on AWS, and a worker is free for other executions. A task that was queued in a process that died
// is queued again by rule 7 of the engine's contract.
//
// # 10. Where is a request to stop kept?
//
// Options: a method of the log; a table of its own; among the records of tokens.
//
// Choice: as the record of a handle that no token has, closed with the error and the cause.
//
// Reason: it needs what a token needs - the first one stays, the wake goes out before it - and no port gets another method.
//
// # 11. Which executions does a process take up?
//
// Options: all that are unfinished in the store; only the one that it was started for; those whose functions it knows.
//
// Choice: those whose functions it knows; it refuses to start others.
//
// Reason: a function is a flag of the command line. An execution that another terminal began with other flags would fail for the
// lack of a function, which nothing can undo.
//
// # 12. What keeps executions on one machine?
//
// Options: pebble, bbolt, SQLite without C; a log of our own.
//
// Choice: pebble (local/disk), with one goroutine that writes, and syncs for all who wait.
//
// Reason: a commit is a small item put under a new key, and what it costs is the sync. With 64 writers of 1 KB pebble made
// 45,000 durable writes a second on two cores, bbolt 14,000, SQLite 8,000 in an earlier run; a log of our own would need its
// index and its compaction written and trusted. One writer, because pebble ends the process after a failed write: so only that
// goroutine stops, and everybody else gets the error. It also shows a write before it is on disk; the store holds the
// execution until then, so that nobody is told what a crash would take back. The format number of the store stands in a
// file of its own, since pebble writes as soon as it opens, and a newer store is to be left untouched.
//
// # 13. How does a state hold a large value?
//
// Options: in full in every item; under a key of its own in the store; by reference to the log item in which it arose.
//
// Choice: by reference (value.Ref: the item's number and the value's number in it), decided where a value is written. A value
// that was read knows its origin, so the encoder needs no table of what is where; an origin names its log, so that a value
// that went to another execution is written there in full. The engine loads what Apply misses and asks again.
//
// Reason: a poll with an input of 5 KB then costs what one without costs, and no store needs a second kind of key that could be
// lost or left over. To ask a held value for its content is a bug and panics, as an index out of range does: an empty value
// in its place would be a wrong answer that nobody sees.
//
// # 14. Who tells a slow function of its token, and who must not call twice?
//
// Options for the answer of a submission that the task queue makes: in the token's record, told by the wake of its token; in the
// record, told by a wake with a cause of its own. Options for a call that must not be made twice: left to the queue; begun by its
// runner in the token's record.
//
// Choice: the record keeps the answer and who begins the call; the wake of an answer has a cause of its own; that a call was
// queued is committed, for submissions too.
//
// Reason: each is a case that the simulation found. Whoever closes a token sends its wake first: were that wake spent on the
// answer, the outcome that follows would reach nobody. Who closes a token twice sends two wakes, and the second one found the next
// step open and not submitted, and queued it again. A queue delivers twice, so it cannot keep a call from being made twice. A
// runner that is found to have begun lives 16 minutes at most; after that nobody knows what became of the call, and it is given up.
//
// # 15. How is the command killed between two effects?
//
// Options: at random instants only; a process that kills itself at a point and a hit that its environment names; one that tells
// each gap and waits to be let through.
//
// Choice: the last. A build with the tag failpoints puts itself around the ports (local/failpoints.go), tells every gap at a
// socket, and the test sends SIGKILL from outside. Gaps are named by the effects around them, so that code which does something
// new meets a gap that the test's table lacks, and the test fails. The same build can have its clock put ahead: a claim lapses
// after 45 s.
//
// Reason: the gaps are a few microseconds wide, and 50 kills at random meet two or three of them. Whoever may keep one gap waiting
// for another also brings about what is a race otherwise. The command as it is shipped has nothing of it but two calls that the
// compiler removes.
//
// # 16. In what image do functions run on one machine?
//
// Options: Lambda's own, pulled from its registry; a small distribution; busybox alone, imported under a name of our own.
//
// Choice: busybox, 2 MB, made by the tests and handed to `sam local` as --invoke-image.
//
// Reason: `sam local` adds the Runtime API by a shell, mv and chmod, and starts our static binaries; nothing else of Lambda's
// image is used. So the tests run where no registry can be reached, take what they test from the repository, and leave the
// images of the machine as they are.
//
// # 17. When does a run end while only a person can go on?
//
// Options: always, with exit 4 and the open tokens; only when time is skipped.
//
// Choice: only when time is skipped. A run on a store serves on: it shows how to answer, and waits for it.
//
// Reason: with a store somebody may answer from another terminal, start another execution, or let the deadline come, and each of
// these needs a process that works on the store. In memory nobody can, and virtual time has nothing left to move for, so the
// run says what it waits for and is over. Who does not want to wait interrupts it; nothing is lost by that.
//
// # 18. How is the stack tested without an account?
//
// Options: the template is read; each function alone against stubs; the template is deployed to an emulator.
//
// Choice: deployed (aws/stack), to an emulator that enforces rights and signatures; the samples run through the command. What the
// emulator is kinder about than AWS - names in the environment, wildcards, what is kept - is read in the template.
//
// Reason: a function that was composed without a limit, and a right that names the wrong thing, pass every test but this one. One
// right is added for the emulator, which takes each schedule for one of the group "default"; that the wait comes in time
// without the right, too, by the queue alone, was seen before it was added. Another is added because it does not know which state
// machine a task token is of, and it does not ask for the rights of durable functions: that both are for those of the parameters only
// is compared as text, and enforced by nobody here.
//
// What the emulator lacks is played by others, and its functions are led there by a proxy in the test: DMS by moto's server, whose
// answers are amended where the service's own client could not read them, and durable functions by AWS's own runner of them, since
// the emulator's fails on the second call of a function that uses the current SDK.
//
// # 19. How is a deployed function killed between two effects?
//
// Options: at random instants only; a function that ends itself at a point that its environment names; the failpoints of record
// 15.
//
// Choice: the last. They are a package of their own now (engine/failpoints), which stands around the ports of whoever composes an
// engine. What it tells names the execution and the process, too: a function works on many executions, and all that it works on
// die with it. The stack of that test has workers that live three seconds, and engine.Config.WorkerLife says so: what waits for
// twice a worker's life waits six.
//
// Reason: the test alone decides which process dies where, so nothing is deployed between two kills. It knows what else a process
// worked on, so calls are counted against the kills that an execution has seen.
//
// # 20. Who stands behind an action on one machine?
//
// Options: AWS, with the user's credentials; a service that is played; nobody, until a flag says which.
//
// Choice: nobody. --task ACTION=simulated or =aws says it for each action.
//
// Reason: a flow that is tried out must not start a job that costs money because credentials happen to be there, and one that is
// meant for AWS must not succeed without having been there. What is played answers as the service does, through the same table
// of kinds, so reading its answers is tested as well. It keeps nothing on disk: after a restart the job began when the store
// says so and takes the default delay.
//
// # 21. Who may reach "waitless dev"?
//
// Options: a key for every request; whoever reaches the port; for what asks for no token or signature only the store's owner, and
// this machine when that is asked for.
//
// Choice: the last. Callback URLs and the API of 2019-03-15 are for everybody who reaches the port. The commands use the socket in
// the store's folder. The management API and job events are on the port with --api only, which needs loopback addresses, and for
// requests that name such an address, none that a browser sends for a page from elsewhere.
//
// Reason: a key would be one more thing to hand around on the machine of one person. Where several people share a machine they
// share the port, and the management API shows tokens and starts flows; the socket is for its owner alone. A web page that the
// same person looks at is somebody else, yet a browser would carry its requests to 127.0.0.1, also under a name that the page's
// owner made for it. Who opens a tunnel from the world to the port means the callbacks.
//
// # 22. How do job events and looks at jobs reach a stack?
//
// Options: rules that call a function; rules that put events into a queue. Polls by schedules; by delayed messages; on a queue of
// their own or on that of the events.
//
// Choice: one queue with both, whose dead letters the rules use as well. A rule is off until a parameter switches it on.
//
// Reason: a function that a rule calls is tried three times and then the event is gone; from a queue it comes again 1,000 times,
// which takes some 2.6 days, and can then be looked at among the dead letters. Polls do the same as events with the same rights, at
// most 15 minutes apart, which is what a message can be delayed by. A rule is not needed for a wait to end, only for it to end at
// once, and it starts work for every job of the account.
//
// # 23. What does a task runner of the release before do with a delivery?
//
// Options: it knows none, and drops it as no task; the message has a version that it does not know.
//
// Choice: the latter. Tasks keep their version.
//
// Reason: functions of one stack are replaced one after the other. A dropped delivery would leave somebody else's engine waiting
// until its own deadline, while what is of a newer release is put back and found by the next task runner.
//
// # 24. Who knows which actions a flow may have?
//
// Options: StartJob alone, when it is called; the machine, from a value in its environment; fdl, from the table of kinds.
//
// Choice: fdl, which may import jobs: the table imports nothing of ours.
//
// Reason: an action that nobody can start is a mistake in the text, and is to be told with its line and column, and what was meant,
// before anything runs. The patterns of the table are compiled when they are first needed (sync.OnceValue, the one thing of sync
// that a pure package may use), since every function that reads flows links the table and few starts need it.
//
// # 25. How is a polling loop recognized, and what is suggested for it?
//
// Options: by the names of functions; by the text of the flow; by the graph of a series, from gotos that lead back.
//
// Choice: by the graph (package advise, which is pure). A loop is what a goto of a choice leads back over; it polls when a turn has
// a wait and the call of a function. What is suggested is made of the parsed steps and written as YAML again, without the comments of
// the text. A condition that looks at anything but the answer is not guessed: a place is left for it.
//
// Reason: a flow that calls its function by another name polls all the same. Steps that are made of what was parsed can be parsed
// again, so tests run what is suggested, and compare it with the loop. The figures count the steps of a turn; a test lets a loop
// run into the limit, and counts its calls.
//
// Limits of that: the input of each poll is the same, so a counter that the function keeps becomes maxAttempts and stays where
// it was. A wait before the first call stays a step of its own, since the first poll is made at once.
//
// # 26. In which format is an execution stored?
//
// Options: always the newest, which a release before this one cannot read; the one before, until a parameter says otherwise; for
// each execution the first one that has what its flow asks for.
//
// Choice: the last. The format is fixed at the start; one that times out without a timeoutSeconds of its flow ends in format 2. This
// release reads 1 and 2.
//
// Reason: an upgrade can be taken back as long as nothing uses what came with it, without anybody setting a parameter first and
// last. A release that cannot read the flow must not touch the execution either, or it would fail it as defective: with the format it
// finds out before it looks, and puts the wake back. So the format goes by the flow and not by what happens to be in an item.
//
// # 27. What do retry and catch see?
//
// Options: every failure of a step; what an attempt ended with.
//
// Choice: the latter: the failure of a call, a callback or a job, a time-out, an answer that is no object or too large, an interrupted
// call, a condition that was not met. FnF.ALL matches each of these and nothing else. The first policy that matches decides, and has
// a counter of its own. A caught step has failed: StepFailed with what errorMappings gave, and no StepExited.
//
// Reason: what goes wrong before or after an attempt goes wrong again in the next one, as values over the limit, whose
// failing the execution the vendor documents. The limit of events and the end of the execution's time must not be caught, or a flow
// could not be ended. Steps of a catch belong to a task that has failed, so an error in them goes to what is around the task.
//
// # 28. What is waitForCondition?
//
// Options: a loop that the parser writes out as a wait, a task and a choice; an attempt with many calls.
//
// Choice: an attempt. Each poll is a call with a key of its own, and with a token of its own where the function is slow. Between two
// polls the state waits for a timer and holds two counters and the deadline, nothing of an answer. timeoutSeconds and maxAttempts
// are for all polls of an attempt, a failed poll is the failure of the attempt, and a retry begins to count anew.
//
// Reason: the history stays as it is from the first poll to the last, so the limit of events says nothing about how long something
// may take, and an item is as small after a million polls as after one. A key for each poll, because a function that remembers its
// answer by the key would give the first one for ever. A poll is repeated when nobody knows what became of it, so atMostOnce does
// not go with it.
//
// # 29. Which wakes look at the time limit of an execution?
//
// Options: those that mean something to the execution; every wake; a timer for each execution.
//
// Choice: every wake, also one that is dropped otherwise. With a timeoutSeconds of the flow the timer that the state has anyway comes
// no later than the limit. Without one there is no timer.
//
// Reason: whoever handles a wake has the state at hand, so a look at the instant costs nothing, and the definition is read only when
// the limit has passed. An execution that waits for nobody any more gets no other wakes than those that mean nothing. The end is that
// of a stop: what waits is closed first and recorded as what it then holds, and the message of the wake stays until that is
// committed, so no answer is hollow, whoever sent the wake. Such a wake is no timer in any other way: a late timer's call is
// the timer's, and a wake that was sent again looks when it comes again. A start therefore reads the definition, which also says
// how long the execution is kept: a flow that nobody has put is refused before anything is accepted.
//
// # 30. What is a message to a queue?
//
// Options: a task of its own kind, which the interpreter sends; a kind of job that has no end; a function of the user's.
//
// Choice: a kind without an end. StartJob sends it, and what SQS or SNS answered is the step's answer; sync is refused.
//
// Reason: everything that a start needs is there - params, an idempotency key, rights by parameter, who stands for it on one
// machine -, and the interpreter links no client more. The clients are linked by StartJob alone, so the package that has them is apart
// from that of the services which GetJobStatus and the function of job events link, too. Delays, tags and attributes of the vendor
// become the service's in the pure table, where a wrong one is told before anything is sent.
//
// # 31. What may stand for a function on one machine?
//
// Options: commands alone; one kind of runner for each protocol, each with errors of its own; runners that agree.
//
// Choice: commands, URLs and Lambda functions, which come to the same outcome for the same end of a call, under the vendor's names.
// None makes a call twice: HTTP connections are not kept, since net/http repeats a request with an idempotency key on one that it finds
// dead. Only the command knows AWS; local has a port for it.
//
// Reason: a flow that is tried out with a script and runs on Lambda later meets the same retry and catch. What is called again is for the
// flow to say, and for the user's function to recognize by the key.
//
// # 32. What if steps that run on make more than an item holds?
//
// Options: fail the execution; write several items at once; let a timer that is due at once go on with the rest.
//
// Choice: the timer. When the events of one application take 64 KiB, measured as they will be written, the state waits for the next
// item, which has no event and is no wait of the flow.
//
// Reason: each merge of a wide object is a new object, so forty steps on two thousand members made 800 KB out of a legal flow, and
// DynamoDB keeps 400. An item holds a whole state, so a second one beside it would say nothing that the first does not. With the
// highest limit of a step's data, 256 KB, what one step adds still fits behind those 64 KiB, and so does an answer to a submission,
// of which 64 KiB are kept, beside the outcome of its token.
//
// # 33. When does a store find that its files were changed?
//
// Options: a checksum in each item only; tables when a process ends; a log of our own.
//
// Choice: each item and record has its checksum, and what a process wrote goes into tables when it shuts the store, whose sizes and
// checksums the database keeps and compares.
//
// Reason: a log that was cut short looks like one that ended there, so a listing was empty where executions had been. After a process
// was killed the log is all there is: a change in it is found by what was written 32 KiB later, and in the last 32 KiB it cannot be
// told from a write that the power cut. Tables at the end cost what the next start would pay to read the log.
//
// # 34. How does the callback function know which sender must sign?
//
// Options: the token's record; one token key for each sender; a hash of the sender's name in the token.
//
// Choice: a hash of four bytes, in tokens of steps that name a sender. The secrets have names, and two names of one hash are refused
// when the secrets are read.
//
// Reason: the callback function reads nothing but Waits and its secrets, and a request without a valid signature does not cause a read.
// The engine writes nothing to open a token of a step, so there is no record to hold the name. The text has 79 characters of 80.
package pkg
