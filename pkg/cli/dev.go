package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitless/waitless/pkg/cli/target"
	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/httpapi/callbackurl"
	"github.com/waitless/waitless/pkg/httpapi/fnf"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// defaultListen is where `waitless dev` listens by default.
const defaultListen = "127.0.0.1:8787"

// devOptions are the flags of dev.
type devOptions struct {
	store, listen, base, fnfKeys, config string
	tasks                                []string
	api, json, quiet                     bool
	logFormat                            string
	flags                                *pflag.FlagSet // for what may run at once
}

func (c Command) devCommand() *cobra.Command {
	var o devOptions
	cmd := helpOf("dev", arguments(0, 0))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.dev(cmd.Context(), o)
	}
	flags := cmd.Flags()
	o.flags = flags
	flags.StringVar(&o.store, "store", "", "the folder of the store (default: WAITLESS_STORE, else "+target.DefaultStore+")")
	flags.BoolVar(&o.api, "api", false, "serve the management API and job events to those on this machine who have its key")
	flags.StringVar(&o.listen, "listen", defaultListen, "where to listen: HOST:PORT")
	flags.StringVar(&o.base, "base", "", "what callback URLs begin with (default: "+callbackVariable+", else http:// and --listen)")
	flags.StringVar(&o.fnfKeys, "fnf-keys", "", `the keys of clients of the API of 2019-03-15: @FILE with {"id":"secret"}, or - for standard input`)
	flags.StringArrayVar(&o.tasks, "task", nil, taskUsage)
	registerConcurrency(flags)
	registerConfig(flags, &o.config)
	flags.BoolVar(&o.json, "json", false, "print one JSON object when it listens (see: waitless help json)")
	flags.BoolVar(&o.quiet, "quiet", false, "log warnings and errors only")
	flags.StringVar(&o.logFormat, "log-format", "text", "how to log: text or json")
	return cmd
}

// Names of environment variables with secrets.
const (
	fnfVariable    = "WAITLESS_FNF_KEYS"
	secretVariable = "WAITLESS_CALLBACK_SECRET"
)

// server is what dev serves.
type server struct {
	command  Command
	options  devOptions
	keys     map[string]string // of clients of the fnf API
	secrets  []callbackurl.Secret
	base     string
	listener net.Listener
	log      *slog.Logger
}

func (c Command) dev(ctx context.Context, o devOptions) (err error) {
	o.store = c.storeDir(o.store)
	s := &server{command: c, options: o}
	if s.log, err = view.NewLogger(c.Stderr, o.logFormat, o.quiet); err != nil {
		return err
	}
	if err := s.readSecrets(ctx); err != nil {
		return err
	}
	tasks, err := c.devTasks(o.tasks)
	if err != nil {
		return err
	}
	store, err := c.opener().Hold(ctx, o.store, "waitless list, which asks the one that holds it, or --store ANOTHER-DIR")
	if err != nil {
		return err
	}
	defer target.Shut(store, o.store, &err)
	err = s.listen(ctx)
	if s.listener != nil {
		defer func() { _ = s.listener.Close() }() // a second time, when it was served
	}
	if err != nil {
		return err
	}
	return s.serve(ctx, store, tasks)
}

// readSecrets reads what requests are signed with.
func (s *server) readSecrets(ctx context.Context) error {
	c := s.command
	if flag := s.options.fnfKeys; flag != "" && flag != "-" && !strings.HasPrefix(flag, "@") { // everybody may see arguments
		return keysUnreadable()
	}
	if text := cmp.Or(s.options.fnfKeys, c.Getenv(fnfVariable)); text != "" {
		keys, err := c.readObject(ctx, "--fnf-keys", text)
		if err != nil {
			return withoutText(err)
		}
		if s.keys, err = keysOf(keys); err != nil {
			return err
		}
	}
	var err error
	if s.secrets, err = callbackurl.ParseSecrets(c.Getenv(secretVariable)); err != nil {
		return view.Usage(err.Error(), "unset "+secretVariable)
	}
	return nil
}

// withoutText keeps an error from showing a secret that was written where the
// name of a file belongs.
func withoutText(err error) error {
	var f *view.Failure
	if errors.As(err, &f) && f.Exit == ExitUsage {
		return keysUnreadable()
	}
	return err
}

func keysUnreadable() error {
	return view.Usage(`--fnf-keys cannot be read; allowed: @FILE with {"id":"secret"}, or - for standard input`, "--fnf-keys @keys.json")
}

func keysOf(object value.Value) (map[string]string, error) {
	keys, err := fnf.ParseKeys(object.JSON())
	if err == nil && len(keys) == 0 {
		err = errors.New("it holds no key")
	}
	if err != nil {
		return nil, view.Usage("--fnf-keys: "+err.Error(), "--fnf-keys @keys.json")
	}
	return keys, nil
}

// devTasks are the functions of all flows of a store, whatever their names.
func (c Command) devTasks(definitions []string) (*local.Tasks, error) {
	byName, err := splitTasks(definitions)
	if err != nil {
		return nil, err
	}
	return c.newTasks(local.NewClock(c.Now), byName, func(string) bool { return true })
}

// logOutput logs the error output of commands.
func (s *server) logOutput(call machine.Call, text string) {
	s.log.Info("output", "execution", call.Flow.Name+"/"+call.Execution, "step", call.Step, "text", token.MaskAll(text))
}

// logAbsent logs what mappings leave out, each of a definition once.
func (s *server) logAbsent() func(engine.Absences) {
	var told absences
	return func(of engine.Absences) {
		for _, m := range told.news(of) {
			s.log.Warn("source of a mapping is missing", "execution", of.Flow.Name+"/"+of.Execution, "mapping", m.String())
		}
	}
}

// listen opens the listener and determines where callbacks arrive.
func (s *server) listen(ctx context.Context) (err error) {
	if s.base, err = s.command.baseOption(s.options.base, true); err != nil {
		return err
	}
	if s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.options.listen); err != nil {
		var failed *net.OpError
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return view.Usage("listen at "+s.options.listen+": "+err.Error(), "--listen 127.0.0.1:0, which takes a port that is free")
	}
	switch {
	case s.base != "":
	case s.options.api: // which serves this machine only
		s.base = s.url()
	case s.address().IP.IsUnspecified():
		return view.Usage("with --listen on all addresses, callback URLs need a name of this machine", "--base http://NAME:PORT")
	default:
		s.base = s.url()
	}
	return s.checkAPI()
}

// checkAPI refuses to serve others what asks for neither a token nor a signature.
func (s *server) checkAPI() error {
	if !s.options.api || s.private() {
		return nil
	}
	const why = "with --api only this machine may reach dev: --listen is a loopback address, and so is the host of --base and " + callbackVariable
	return view.Usage(why, "--listen "+defaultListen+" without --base, or no --api")
}

// address is that of a listener for TCP.
func (s *server) address() *net.TCPAddr {
	address, _ := s.listener.Addr().(*net.TCPAddr)
	return address
}

func (s *server) url() string { return "http://" + s.listener.Addr().String() }

// private reports whether only this machine reaches the listener. If callbacks arrive under another name,
// a proxy or a tunnel on this machine forwards the requests of others.
func (s *server) private() bool {
	base, err := url.Parse(s.base)
	return err == nil && target.IsLoopback(base.Hostname()) && s.address().IP.IsLoopback()
}

// serve works on the store until ctx ends.
func (s *server) serve(ctx context.Context, store target.Store, tasks *local.Tasks) error {
	config, err := s.command.configOf(ctx, local.NewClock(s.command.Now), tasks)
	if err != nil {
		return err
	}
	if err := s.command.limitConcurrency(s.options.flags, &config); err != nil {
		return err
	}
	config.Store, config.Keys, config.CallbackBase, config.Absent = store, store.Keys(), s.base, s.logAbsent()
	config.Warn = func(err error) { s.log.Warn("job failed; it is retried", "error", err.Error()) }
	config.Observer = &view.ExecutionLog{Log: s.log, Flow: store.Flow}
	config.Output = s.logOutput
	var blocked blockedExecutions
	config.Blocked = blocked.add
	system := local.New(config)
	if err := system.TakeOver(ctx); err != nil { // before job events arrive
		return fmt.Errorf("take over store %s: %w", s.options.store, err)
	}
	blocked.log(s.log)
	s.warnOfSigned(ctx, store, system)
	own := target.Handler(system, store, s.log, "dev")
	endSocket, err := target.ServeSocket(ctx, s.options.store, own)
	if err != nil {
		return fmt.Errorf("serve store %s: %w", s.options.store, err)
	}
	key, err := s.apiKey(store)
	if err != nil {
		endSocket()
		return fmt.Errorf("serve store %s: %w", s.options.store, err)
	}
	endHTTP := target.Serve(ctx, s.listener, s.handler(system, own, key))
	err = s.announce()
	if err == nil {
		err = system.Serve(ctx)
	}
	endHTTP()
	endSocket()
	if ctx.Err() != nil {
		return view.Interrupted("what waits continues with the next dev")
	}
	return err
}

// warnOfSigned warns of flows whose signed callbacks cannot be verified: no secret of their sender is
// configured. Flows that cannot run here are left out.
func (s *server) warnOfSigned(ctx context.Context, store target.Store, system *local.System) {
	definitions, err := store.Definitions(ctx, "")
	if err != nil {
		s.log.Warn("flows cannot be listed", "error", err.Error())
	}
	for i, d := range definitions {
		if i > 0 && definitions[i-1].Flow.Name == d.Flow.Name {
			continue // an earlier definition of the flow
		}
		flow, err := store.Flow(ctx, d.Flow)
		if err != nil || len(system.Missing(flow)) > 0 {
			continue
		}
		for _, sender := range s.unverified(flow) {
			s.log.Warn("signed callbacks are rejected, because no secret of their sender is configured",
				"flow", d.Flow.Name, "sender", sender, "set", secretVariable)
		}
	}
}

// unverified returns the senders of the flow's signed callbacks that have no secret.
func (s *server) unverified(flow *fdl.Flow) (senders []string) {
	for _, step := range flow.All {
		task, isTask := step.Kind.(*fdl.Task)
		if !isTask || !task.Signed || callbackurl.CanVerify(s.secrets, task.Sender) {
			continue
		}
		if sender := cmp.Or(task.Sender, "default"); !slices.Contains(senders, sender) {
			senders = append(senders, sender)
		}
	}
	return senders
}

// apiKey is the key of the management API, if that is served.
func (s *server) apiKey(store target.Store) (string, error) {
	if !s.options.api {
		return "", nil
	}
	return store.APIKey()
}

// handler is what is served over HTTP: own to this machine and with the key, if
// that is asked for, the rest to everybody who reaches it.
func (s *server) handler(system *local.System, own http.Handler, key string) http.Handler {
	mux := http.NewServeMux()
	callbacks := callbackurl.Handler(callbackurl.Config{
		Tokens: system.Callbacks, Secrets: s.secrets, SecretSetting: secretVariable, Now: time.Now, Log: s.log,
	})
	mux.Handle("/callbacks", callbacks)
	mux.Handle("/callbacks/", callbacks)
	if len(s.keys) > 0 {
		mux.Handle("/{$}", fnf.Handler(fnf.Config{Tokens: system.Callbacks, Keys: s.keys, Now: time.Now, Log: s.log}))
	}
	if s.options.api {
		mux.Handle("/", forThisMachine(requireKey(key, own)))
	} else {
		mux.Handle("/", refusing(http.StatusForbidden, "this waitless dev was started without --api: start it with that, or name its store with --store"))
	}
	return withoutRedirects(mux)
}

// withoutRedirects keeps the mux from answering a path that is not clean with
// the place of the clean one, because a token may stand in it.
func withoutRedirects(mux http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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

// refusing answers as the management API refuses, so that the commands show the
// message.
func refusing(status int, message string) http.Handler {
	return target.Responding(status, rest.Error{Code: engine.CodeInvalid, Message: message})
}

// forThisMachine refuses what a page in a browser sends: one of another origin,
// or one that reached this machine under a name of its own.
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
		if !target.IsLoopback(strings.Trim(host, "[]")) || isForwarded(r.Header) || isOfAPage(r.Header) {
			refused.ServeHTTP(w, r)
			return
		}
		protected.ServeHTTP(w, r)
	})
}

// forwarding begins the names of headers that proxies and tunnels add.
var forwarding = []string{
	"Forwarded", "Via", "X-Forwarded", "X-Real-", "X-Client-", "X-Cluster-", "X-Original-", "X-Envoy-", "X-Proxy", "X-Arr-", "X-Azure-", "X-Appengine-",
	"True-Client-", "Client-Ip", "Cf-", "Cdn-", "Fastly-", "Fly-", "Ngrok-", "Tailscale-", "X-Cloud-Trace-",
}

// isForwarded reports whether a proxy or a tunnel on this machine sent the request.
func isForwarded(header http.Header) bool {
	for name := range header {
		if slices.ContainsFunc(forwarding, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			return true
		}
	}
	return false
}

// isOfAPage: a page of another origin sent it, which may not even learn whether
// there is something.
func isOfAPage(header http.Header) bool {
	site := header.Get("Sec-Fetch-Site")
	return site != "" && site != "none" && site != "same-origin"
}

// devReport is the JSON of dev; schema/dev.json describes it.
type devReport struct {
	Schema    string `json:"schema"` // "waitless.dev/1"
	Store     string `json:"store"`
	API       string `json:"api,omitempty"`
	APIKey    string `json:"apiKeyFile,omitempty"`
	Callbacks string `json:"callbacks"`
	JobEvents string `json:"jobEvents,omitempty"`
	Fnf       string `json:"fnf,omitempty"`
}

// announce says where what listens.
func (s *server) announce() error {
	report := devReport{Schema: "waitless.dev/1", Store: s.options.store, Callbacks: s.base + "/callbacks/"}
	if s.options.api {
		report.API, report.JobEvents, report.APIKey = s.url(), s.url()+target.EventPath, filepath.Join(s.options.store, target.APIKeyFile)
	}
	if len(s.keys) > 0 {
		report.Fnf = s.base + "/"
	}
	if s.options.json {
		return s.command.out().JSON(report)
	}
	var rows [][]string
	for _, row := range [][]string{
		{"store", report.Store},
		{"management API", report.API},
		{"key of that API", report.APIKey},
		{"callback URLs", report.Callbacks + "TOKEN"},
		{"job events", report.JobEvents},
		{"API of 2019-03-15", report.Fnf},
	} {
		if row[1] != "" {
			rows = append(rows, row)
		}
	}
	return s.command.out().Text(view.Columns(rows))
}
