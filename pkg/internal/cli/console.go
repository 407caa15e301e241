package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/console"
)

// The console looks for changes at these intervals. Each look at a stack costs requests there.
const (
	consoleInterval      = time.Second
	consoleStackInterval = 5 * time.Second
)

// consoleServer serves a console.
type consoleServer struct {
	listener net.Listener
	beside   net.Listener // the same port of the other loopback address; nil if that is not served
	name     string       // of the console, below localhost; "" for none
	key      string
}

// url returns the address that a browser opens, with the key. The console redirects a browser that
// resolves its name.
func (s *consoleServer) url() string {
	return "http://" + s.listener.Addr().String() + "/?key=" + s.key
}

// openConsoleAt opens a console with a new key, on this machine only. Browsers resolve a name below
// localhost to both loopback addresses, so the console has a name only if no other process can
// listen at its port there.
func openConsoleAt(ctx context.Context, address string) (*consoleServer, error) {
	listener, err := listenForConsole(ctx, address)
	if err != nil {
		return nil, err
	}
	s := &consoleServer{listener: listener, key: rand.Text()}
	host, port, _ := net.SplitHostPort(listener.Addr().String())
	other := map[string]string{"127.0.0.1": "::1", "::1": "127.0.0.1"}[host]
	s.beside, err = listenForConsole(ctx, net.JoinHostPort(other, port))
	if err == nil || other != "" && !isOfThisMachine(other) {
		s.name = strings.ToLower(rand.Text()) + ".localhost"
	}
	return s, nil
}

// isOfThisMachine reports whether an interface of this machine has the address.
func isOfThisMachine(ip string) bool {
	addresses, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(addresses, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		return ok && network.IP.Equal(net.ParseIP(ip))
	})
}

// resolvesToLoopback reports whether this machine resolves a name, and to loopback addresses only.
func resolvesToLoopback(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(ctx, name)
	return err == nil && !slices.ContainsFunc(addresses, func(a string) bool { return !target.IsLoopback(a) })
}

// listenForConsole opens a listener of a console.
func listenForConsole(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil || !target.IsLoopback(host) {
		return nil, view.Usage("--console is "+strconv.Quote(address)+"; allowed: HOST:PORT of this machine; and for dev, off", "--console 127.0.0.1:0")
	}
	listener, err := (&net.ListenConfig{Control: requireLoopback}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, view.Usage("listen at "+address+": "+withoutAddress(err), "--console 127.0.0.1:0, which uses a free port")
	}
	return listener, nil
}

// requireLoopback rejects the address that a listener is about to bind, because the machine may
// resolve localhost to another one.
func requireLoopback(_, address string, _ syscall.RawConn) error {
	if host, _, err := net.SplitHostPort(address); err != nil || !target.IsLoopback(host) {
		return errors.New(address + " is not an address of this machine alone")
	}
	return nil
}

// serve serves the console of a client until end is called. A nil console is off.
func (s *consoleServer) serve(ctx context.Context, a *target.Client, place target.Place, callbackBase string, log *slog.Logger) (end func()) {
	if s == nil {
		return func() {}
	}
	flag := "--" + placeText(place)
	if place.Endpoint != "" {
		flag = "--endpoint " + place.Endpoint
	}
	config := console.Config{
		Executions: a, Repeats: a, Waits: a, Flows: a, Place: placeText(place), CallbackBase: callbackBase,
		Key: s.key, Name: s.name, Resolves: resolvesToLoopback, Command: "waitless console " + flag,
		News: a.News, Interval: consoleInterval, Now: time.Now, Pause: target.Pause, MayWait: target.MayWait, Ended: ctx.Done(),
		Log: log, JobEvents: a,
	}
	if a.News == 0 {
		config.Interval, config.JobEvents = consoleStackInterval, nil
	}
	handler := console.Handler(config)
	endFirst := target.Serve(ctx, s.listener, handler)
	if s.beside == nil {
		return endFirst
	}
	endBeside := target.Serve(ctx, s.beside, handler)
	return func() {
		endBeside()
		endFirst()
	}
}

// openConsole opens the listener of dev's console, unless it is off. By default it is the port
// after dev's port, or a free one.
func (s *server) openConsole(ctx context.Context) (opened *consoleServer, err error) {
	address := s.console
	switch {
	case address == "off":
		return nil, nil
	case address == "" && strings.HasSuffix(s.listen, ":0"):
		address = "127.0.0.1:0"
	case address == "":
		address = net.JoinHostPort("127.0.0.1", strconv.Itoa(s.address().Port+1))
	}
	opened, err = openConsoleAt(ctx, address)
	if err != nil && s.console == "" {
		opened, err = openConsoleAt(ctx, "127.0.0.1:0")
	}
	return opened, err
}

// consoleCommand serves the console of a place until the user stops it.
func consoleCommand(c Command) *cobra.Command {
	var remote remoteOptions
	var listen string
	cmd := helpOf("console", arguments(0, 0))
	remote.placeFlags.register(cmd.Flags())
	cmd.Flags().StringVar(&listen, "console", "127.0.0.1:0", "where the console listens: HOST:PORT of this machine")
	body := func(ctx context.Context, a *target.Client, _ []string) error {
		place, err := c.locate(remote.Place)
		if err != nil {
			return err
		}
		log, err := view.NewLogger(c.Stderr, "text", false)
		if err != nil {
			return err
		}
		if _, _, err = a.ExecutionsPage(ctx, rest.Filter{Limit: 1}, ""); err != nil {
			return err
		}
		c.noteOfNoWorker(a)
		base, err := c.callbackBase(ctx, a, remote.Place, "")
		if err != nil {
			log.Warn("the console shows no callback URLs", "error", err.Error())
		}
		s, err := openConsoleAt(ctx, listen)
		if err != nil {
			return err
		}
		defer s.serve(ctx, a, place, base, log)()
		if err := c.out().Text(view.Line("console  %s", s.url())); err != nil {
			return err
		}
		<-ctx.Done()
		return view.Interrupted("what runs continues")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.openedBy(c.opener().Follow, &remote, body)(cmd, args)
	}
	return cmd
}

// placeText returns the name of the place that a console shows.
func placeText(p target.Place) string {
	switch {
	case p.Endpoint != "":
		return p.Endpoint
	case p.Stack != "":
		return "stack " + p.Stack
	}
	return "store " + p.Store
}

// consoleNews is for how many seconds a request of a console for the events of an execution waits
// for more.
const consoleNews = 5
