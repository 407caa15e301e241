package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/audit"
	"github.com/waitless/waitless/pkg/httpapi/callbackurl"
	"github.com/waitless/waitless/pkg/httpapi/clientkeys"
	"github.com/waitless/waitless/pkg/httpapi/fnf"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/httpapi/sfn"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/console"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/schedule"
	"github.com/waitless/waitless/pkg/schedule/cron"
	"github.com/waitless/waitless/pkg/telemetry"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
	"github.com/waitless/waitless/pkg/webhook"
)

// defaultListen is where `waitless dev` listens by default.
const defaultListen = "127.0.0.1:8787"

// Names of environment variables with secrets.
const (
	clientKeysVariable = "WAITLESS_CLIENT_KEYS"
	secretVariable     = "WAITLESS_CALLBACK_SECRET"
	notifyVariable     = "WAITLESS_NOTIFY_SECRET"
)

// server is the server of dev.
type server struct {
	Command

	// The values of the flags.
	store, listen, console, base, clientKeys, logFormat string
	definitions                                         []string // of tasks
	api, json, quiet                                    bool
	otlp                                                string
	traceRatio                                          float64
	flags                                               *pflag.FlagSet

	keys     clientkeys.Keys // of clients
	secrets  []callbackurl.Secret
	signs    []webhook.Secret // of notices
	notify   machine.Notify   // for executions that name no target
	listener net.Listener
	log      *slog.Logger
	files    *flowFiles
	totals   *telemetry.Totals
}

func devCommand(c Command) *cobra.Command {
	cmd := helpOf("dev", arguments(0, math.MaxInt))
	flags := cmd.Flags()
	s := &server{Command: c, flags: flags}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return s.run(cmd.Context(), args)
	}
	flags.StringVar(&s.store, "store", "", "the folder of the store (default: WAITLESS_STORE, else "+target.DefaultStore+")")
	flags.BoolVar(&s.api, "api", false, "serve the management API and job events to those on this machine who have its key")
	flags.StringVar(&s.listen, "listen", defaultListen, "where to listen: HOST:PORT")
	flags.StringVar(&s.console, "console", "",
		"where the web console listens: HOST:PORT of this machine, or off (default: the port after --listen, or a free one)")
	flags.StringVar(&s.base, "base", "", "what callback URLs begin with (default: "+callbackVariable+", else http:// and --listen)")
	flags.StringVar(&s.clientKeys, "client-keys", "", `the keys of clients of the APIs that are signed: @FILE with {"id":"secret"}, or - for standard input`)
	flags.StringVar(&s.notify.Target, "notify", "", "a URL that is told of the end of executions that name none: https://..., or @FILE with one")
	flags.BoolVar(&s.notify.Waits, "notify-waits", false, "tell --notify also of each step that begins to wait for a callback")
	flags.StringVar(&s.otlp, "otlp", "", "send traces to a collector of OpenTelemetry: http://127.0.0.1:4318 (default: "+otlpVariable+", else none)")
	flags.Float64Var(&s.traceRatio, "trace-ratio", 1, "with --otlp, the portion of executions that are traced if their start has no traceparent, 0 to 1")
	flags.StringArrayVar(&s.definitions, "task", nil, taskUsage)
	registerConcurrency(flags)
	registerConfig(flags)
	flags.BoolVar(&s.json, "json", false, "print one JSON object when it listens (see: waitless help json)")
	flags.BoolVar(&s.quiet, "quiet", false, "log warnings and errors only")
	flags.StringVar(&s.logFormat, "log-format", "text", "how to log: text or json")
	return cmd
}

// run serves the store until ctx ends.
func (s *server) run(ctx context.Context, args []string) (err error) {
	s.store = s.storeDir(s.store)
	if s.log, err = view.NewLogger(s.Stderr, s.logFormat, s.quiet); err != nil {
		return err
	}
	if s.keys, err = s.readKeys(ctx); err != nil {
		return err
	}
	if s.secrets, err = callbackurl.ParseSecrets(s.Getenv(secretVariable)); err != nil {
		return view.Usage(err.Error(), "unset "+secretVariable)
	}
	if s.signs, err = webhook.ParseSecrets(s.Getenv(notifyVariable)); err != nil {
		return view.Usage(err.Error(), "unset "+notifyVariable)
	}
	if err := cmp.Or(s.readNotify(ctx), s.checkOTLP()); err != nil {
		return err
	}
	byName, err := splitTasks(s.definitions)
	if err != nil {
		return err
	}
	tasks, err := s.newTasks(local.NewClock(s.Now), byName, func(string) bool { return true }) // flows of the store may call any
	if err != nil {
		return err
	}
	if s.files, err = s.newFlowFiles(args, s.log); err != nil {
		return err
	}
	store, err := s.opener().Hold(ctx, s.store, "waitless list, which asks the one that holds it, or --store ANOTHER-DIR")
	if err != nil {
		return err
	}
	defer target.Shut(store, s.store, &err)
	err = s.openListener(ctx)
	if s.listener != nil {
		defer func() { _ = s.listener.Close() }() // a second time, when it was served
	}
	if err != nil {
		return err
	}
	return s.serve(ctx, store, tasks)
}

func (s *server) readKeys(ctx context.Context) (clientkeys.Keys, error) {
	const try = "--client-keys @keys.json"
	text := cmp.Or(s.clientKeys, s.Getenv(clientKeysVariable))
	switch {
	case text == "":
		return nil, nil
	case s.clientKeys != "" && text != "-" && !strings.HasPrefix(text, "@"): // everybody may see arguments
		return nil, view.Usage(`--client-keys is no file; allowed: @FILE with {"id":"secret"} (see: waitless docs fnf-api), or - for standard input`, try)
	}
	data, err := s.readText(ctx, "--client-keys", text, try)
	if err != nil {
		return nil, err
	}
	keys, err := clientkeys.Parse(string(data))
	if err == nil && len(keys) == 0 {
		err = errors.New("it holds no key")
	}
	if err != nil {
		return nil, view.Usage("--client-keys: "+err.Error(), try)
	}
	return keys, nil
}

// logOutput logs the error output of commands.
func (s *server) logOutput(call machine.Call, text string) {
	s.log.Info("output", "execution", call.Flow.Name+"/"+call.Execution, "step", call.Step, "text", token.MaskAll(text))
}

// withoutAddress returns why nothing can listen at an address, without the address.
func withoutAddress(err error) string {
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		err = failed.Err
	}
	if bad, ok := errors.AsType[*net.AddrError](err); ok {
		return bad.Err
	}
	return err.Error()
}

// openListener opens the listener and determines where callbacks arrive.
func (s *server) openListener(ctx context.Context) (err error) {
	if s.base, err = s.baseOption(s.base, true); err != nil {
		return err
	}
	if s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.listen); err != nil {
		return view.Usage("listen at "+s.listen+": "+withoutAddress(err), "--listen 127.0.0.1:0, which takes a port that is free")
	}
	if s.base == "" && !s.api && s.address().IP.IsUnspecified() { // the API serves this machine only
		return view.Usage("with --listen on all addresses, callback URLs need a name of this machine", "--base http://NAME:PORT")
	}
	s.base = cmp.Or(s.base, s.url())
	return s.checkAPI()
}

// checkAPI refuses to serve other machines an API without a token or a signature.
func (s *server) checkAPI() error {
	// If callbacks arrive under another name, a proxy or a tunnel on this machine forwards the
	// requests of others.
	base, err := url.Parse(s.base)
	if !s.api || err == nil && target.IsLoopback(base.Hostname()) && s.address().IP.IsLoopback() {
		return nil
	}
	const why = "with --api, --listen must be a loopback address, and so must the host of --base and " + callbackVariable
	return view.Usage(why, "--listen "+defaultListen+" without --base, or no --api")
}

// address returns the address of a listener for TCP.
func (s *server) address() *net.TCPAddr {
	address, _ := s.listener.Addr().(*net.TCPAddr)
	return address
}

func (s *server) url() string { return "http://" + s.listener.Addr().String() }

// serve works on the store until ctx ends.
func (s *server) serve(ctx context.Context, store target.Store, tasks *local.Functions) error {
	config, err := s.systemConfig(ctx, store, tasks)
	if err != nil {
		return err
	}
	defer s.exportTraces(ctx, &config)()
	var blocked blockedExecutions
	config.Blocked, config.TakenOver = blocked.add, func() { blocked.log(s.log) }
	system := local.New(config)
	if err := system.TakeOver(ctx); err != nil { // before job events arrive
		return fmt.Errorf("take over store %s: %w", s.store, err)
	}
	defer blocked.log(s.log)
	s.files.put, s.files.missing = target.InProcess(system, store).PutFlow, system.Missing
	s.files.check(ctx)
	ticker := time.NewTicker(reloadEvery)
	defer ticker.Stop()
	defer background(ctx, func(ctx context.Context) { s.files.watch(ctx, ticker.C) })()
	s.warnOfSigned(ctx, store, system)
	now := local.NewClock(s.Now).Now
	runner := cron.NewRunner(schedule.Starter{Store: store, Newest: store.Newest, Start: system.Start}, now, s.log)
	defer background(ctx, runner.Run)()
	schedules := cron.Manager{Store: store, Trigger: runner, Now: now}
	own := target.Handler(system, store, schedules, s.log, "dev")
	endSocket, err := target.ServeSocket(ctx, s.store, audit.Handler(s.log, "socket", own))
	if err != nil {
		return fmt.Errorf("serve store %s: %w", s.store, err)
	}
	defer endSocket()
	key := ""
	if s.api {
		if key, err = store.APIKey(); err != nil {
			return fmt.Errorf("serve store %s: %w", s.store, err)
		}
	}
	web, err := s.openConsole(ctx)
	if err != nil {
		return fmt.Errorf("serve the console of store %s: %w", s.store, err)
	}
	a := &target.Client{Client: target.ClientOf(audit.Handler(s.log, "console", own)), News: consoleNews}
	defer web.serve(ctx, a, target.Place{Store: s.store}, s.base, s.log)()
	endHTTP := target.Serve(ctx, s.listener, s.handler(system, store, schedules, own, key))
	err = s.announce(web)
	if err == nil {
		err = system.Serve(ctx)
	}
	endHTTP()
	if ctx.Err() != nil {
		return view.Interrupted("what waits continues with the next dev")
	}
	return err
}

// systemConfig returns the configuration of the system that works on the store.
func (s *server) systemConfig(ctx context.Context, store target.Store, tasks *local.Functions) (config local.Config, err error) {
	if config, err = s.configOf(ctx, local.NewClock(s.Now), tasks); err != nil {
		return config, err
	}
	config.Store, config.CallbackBase, config.Notify = store, s.base, s.notify
	var told reportedSources
	config.Unmapped = func(of engine.UnmappedSources) {
		for _, m := range told.news(of) {
			s.log.Warn("source of a mapping is missing", "execution", of.Flow.Name+"/"+of.Execution, "mapping", m.String())
		}
	}
	config.Warn = func(err error) {
		s.log.Warn("a job, or the removal of an execution, failed; it is retried", "error", err.Error())
	}
	config.Output = s.logOutput
	s.totals = telemetry.NewTotals(
		telemetry.ExecutionsStarted, telemetry.ExecutionsSucceeded, telemetry.ExecutionsFailed, telemetry.ExecutionsStopped,
		telemetry.ExecutionsTimedOut, telemetry.Retries, telemetry.WakeAge, telemetry.DeliveryFailures, telemetry.CallbackRefusals,
		telemetry.SpansDropped,
	)
	if len(s.signs) > 0 {
		config.Notices = countedNotices{noticeSender{webhook.NewSender(s.signs, false, time.Now), s}, s.totals}
	} else {
		config.CheckTarget = func(string) error { return errUnsigned }
	}
	config.Observer = countedLog{&view.ExecutionLog{Log: s.log, Flow: store.Flow}, telemetry.Executions{Sink: s.totals}}
	config.Applied = func(wake engine.Wake, received time.Time, d engine.Disposition) {
		telemetry.CountWake(s.totals, wake, received, d)
	}
	return config, s.limitConcurrency(s.flags, &config)
}

// background runs a function until ctx ends or end is called, which waits for its return.
func background(ctx context.Context, run func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// warnOfSigned warns of flows with signed callbacks that cannot be verified: no secret of their
// sender is configured. It skips flows that cannot run here.
func (s *server) warnOfSigned(ctx context.Context, store target.Store, system *local.System) {
	definitions, err := store.Definitions(ctx, "")
	if err != nil {
		s.log.Warn("flows cannot be listed", "error", err.Error())
	}
	told := map[[2]string]bool{}
	for _, d := range definitions {
		flow, err := store.Flow(ctx, d.Flow)
		if err != nil || len(system.Missing(flow)) > 0 {
			continue
		}
		for _, task := range flow.Tasks() {
			if !task.Signed || callbackurl.CanVerify(s.secrets, task.Sender) {
				continue
			}
			if one := [2]string{d.Flow.Name, cmp.Or(task.Sender, "default")}; !told[one] {
				told[one] = true
				s.log.Warn("signed callbacks are rejected, because no secret of their sender is configured",
					"flow", one[0], "sender", one[1], "set", secretVariable)
			}
		}
	}
}

// handler serves HTTP: own to this machine and with the key, if that is required, and the other
// handlers to every client.
func (s *server) handler(system *local.System, store target.Store, schedules cron.Manager, own http.Handler, key string) http.Handler {
	mux := http.NewServeMux()
	callbacks := callbackurl.Handler(callbackurl.Config{
		Tokens: system.Callbacks, Steps: system.Client, Secrets: s.secrets, SecretSetting: secretVariable, Now: time.Now, Log: s.log,
	})
	callbacks = telemetry.CountRefusals(s.totals, callbacks)
	mux.Handle("/callbacks", callbacks)
	mux.Handle("/callbacks/", callbacks)
	if len(s.keys) > 0 {
		mux.Handle("/{$}", s.signedAPIs(system, store, schedules))
	}
	if s.api {
		mux.Handle("/", forThisMachine(requireKey(key, audit.Handler(s.log, "api key", own))))
		metrics := &openWaits{store: store, client: system.Client, totals: s.totals, log: s.log, now: time.Now}
		mux.Handle("GET /metrics", forThisMachine(requireKey(key, metrics)))
	} else {
		mux.Handle("/", refusing(http.StatusForbidden, "this waitless dev was started without --api: start it with that, or name its store with --store"))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The mux would redirect another path to the clean one, and a token may stand in it.
		if escaped := r.URL.EscapedPath(); path.Clean(escaped) != escaped {
			refusing(http.StatusNotFound, "there is nothing here").ServeHTTP(w, r)
			return
		}
		if len(r.TransferEncoding) > 0 { // a request may have a length too, which net/http drops: read nothing behind it
			w.Header().Set("Connection", "close")
		}
		mux.ServeHTTP(w, r)
	})
}

// signedAPIs returns the handler of the APIs with requests that are signed by one of the keys. They
// share a path.
func (s *server) signedAPIs(system *local.System, store target.Store, schedules cron.Manager) http.Handler {
	running := executions{system.Client, system}
	ofFnf := fnf.Handler(fnf.Config{
		Tokens: system.Callbacks, Executions: running, Catalog: store, Flows: store, Check: s.checkFlow, Await: system.Await, Pause: target.Pause,
		MayWait: target.MayWait, Schedules: schedules, Region: "local", Keys: s.keys, Now: time.Now, Log: s.log, Audit: s.log,
	})
	ofStepFunctions := sfn.Handler(sfn.Config{
		Tokens: system.Callbacks, Executions: running, Catalog: store, Flows: store, Check: s.checkFlow, Schedules: schedules,
		Await: func(ctx context.Context, id engine.ID) (machine.State, error) {
			defer target.Pause(ctx)()
			return system.Await(ctx, id)
		},
		Activities: activities{store, system},
		Call:       system.Call, MayWait: target.MayWait, Keys: s.keys, Now: time.Now, Log: s.log, Audit: s.log,
		Region:  cmp.Or(s.setting("AWS_REGION"), s.Getenv("AWS_DEFAULT_REGION"), "us-east-1"),
		Account: cmp.Or(s.Getenv("AWS_ACCOUNT_ID"), "000000000000"),
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sfn.Serves(r) {
			ofStepFunctions.ServeHTTP(w, r)
			return
		}
		ofFnf.ServeHTTP(w, r)
	})
}

// activities are the activities of the signed APIs.
type activities struct {
	target.Store

	system *local.System
}

// TakeTask implements [sfn.Activities].
func (a activities) TakeTask(ctx context.Context, activity, worker string) (text string, input value.Value, err error) {
	defer target.Pause(ctx)()
	return a.system.TakeTask(ctx, activity, worker)
}

// executions are the executions of the signed APIs. They start and stop as a system's do.
type executions struct {
	*engine.Client

	system *local.System
}

// Start implements [fnf.Executions].
func (e executions) Start(ctx context.Context, request engine.StartRequest) (engine.StartResult, error) {
	return e.system.Start(ctx, request)
}

// Stop implements [fnf.Executions].
func (e executions) Stop(ctx context.Context, id engine.ID, name, cause string) error {
	return e.system.Stop(ctx, id, name, cause)
}

// refusing answers as the management API refuses, so that the commands show the
// message.
func refusing(status int, message string) http.Handler {
	return target.Responding(status, rest.Error{Code: engine.CodeInvalid, Message: message})
}

// forThisMachine refuses requests that a page in a browser sends: a page of another origin, or a
// page that reached this machine under a name of its own.
func forThisMachine(next http.Handler) http.Handler {
	refused := refusing(http.StatusForbidden, "this API is for the machine itself: use its loopback address, without a proxy or a page in between")
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(refused)
	protected := protection.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(r.Host); err == nil {
			host = name
		}
		site := r.Header.Get("Sec-Fetch-Site") // a page of another origin may not even learn whether there is something
		isOfAPage := site != "" && site != "none" && site != "same-origin"
		if !target.IsLoopback(strings.Trim(host, "[]")) || console.IsForwarded(r.Header) || isOfAPage {
			refused.ServeHTTP(w, r)
			return
		}
		protected.ServeHTTP(w, r)
	})
}

// requireKey refuses requests without the key: a loopback address is open to
// every user of the machine.
func requireKey(key string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(key))
	refused := refusing(http.StatusUnauthorized, "this API wants the key in the file "+target.APIKeyFile+" of its store: send Authorization: Bearer KEY, or set "+
		keyVariable+"=@STORE/"+target.APIKeyFile+" for the commands, or name the store by --store")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(text)))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refused.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// devReport is the JSON of dev; schema/dev.json describes it.
type devReport struct {
	Store     string   `json:"store"`
	Flows     []string `json:"flows"`
	API       string   `json:"api,omitempty"`
	APIKey    string   `json:"apiKeyFile,omitempty"`
	Callbacks string   `json:"callbacks"`
	JobEvents string   `json:"jobEvents,omitempty"`
	Console   string   `json:"console,omitempty"` // with its key
	Fnf       string   `json:"fnf,omitempty"`
	Sfn       string   `json:"sfn,omitempty"`
}

// announce prints the addresses of everything that is served.
func (s *server) announce(web *consoleServer) error {
	report := devReport{Store: s.store, Flows: append([]string{}, s.files.names()...), Callbacks: s.base + "/callbacks/"}
	if s.api {
		report.API, report.JobEvents, report.APIKey = s.url(), s.url()+target.EventPath, filepath.Join(s.store, target.APIKeyFile)
	}
	if len(s.keys) > 0 {
		report.Fnf, report.Sfn = s.base+"/", s.base+"/"
	}
	if web != nil {
		report.Console = web.url()
	}
	if s.json {
		return s.out().JSON("dev", report)
	}
	rows := slices.DeleteFunc([][]string{
		{"store", report.Store},
		{"flows", s.files.describe()},
		{"management API", cmp.Or(report.API, "not served; --api serves it")},
		{"key of that API", report.APIKey},
		{"callback URLs", report.Callbacks + "TOKEN"},
		{"job events", report.JobEvents},
		{"API of 2019-03-15", report.Fnf},
		{"Step Functions API", report.Sfn},
		{"console", report.Console},
	}, func(row []string) bool { return row[1] == "" })
	return s.out().Text(view.Columns(rows))
}

// blockedExecutions are the executions that a process found when it took over a store, and cannot
// continue.
type blockedExecutions struct {
	mu    sync.Mutex
	flows []*blockedFlow
}

// blockedFlow are the executions of one definition.
type blockedFlow struct {
	flow      machine.FlowRef
	execution string // one of them
	count     int
	why       string
}

// add implements Blocked of [local.Config].
func (b *blockedExecutions) add(flow machine.FlowRef, execution string, missing []error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, known := range b.flows {
		if known.flow == flow {
			known.count++
			return
		}
	}
	b.flows = append(b.flows, &blockedFlow{flow, execution, 1, view.WithoutRunners(missing)})
}

// log warns of the executions that were added since the last call, a line a flow.
func (b *blockedExecutions) log(log *slog.Logger) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.flows {
		log.Warn("executions cannot continue", "flow", f.flow.Name, "executions", f.count, "one", f.execution, "why", f.why)
	}
	b.flows = nil
}
