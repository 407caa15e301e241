package emulator

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func TestTheEmulatorIsReadyWhenItIsStarted(t *testing.T) {
	t.Parallel()
	if endpoint := *Config(t).BaseEndpoint; endpoint != cloud.process.Load().endpoint || !cloud.process.Load().healthy(t.Context()) {
		t.Errorf("endpoint %s is not healthy", endpoint)
	}
}

func TestAnEmulatorEnds(t *testing.T) {
	t.Parallel()
	Config(t) // says it when there is none
	p, err := ministack.start()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	if p.healthy(t.Context()) || exists(p.dir) {
		t.Error("it answers still, or left its folder behind")
	}
}

func TestAProgramThatEndsIsNoEmulator(t *testing.T) {
	t.Parallel()
	p := &process{ready: "http://127.0.0.1:1", dir: t.TempDir(), ended: make(chan struct{})}
	if err := p.run("false", nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.awaitReady(); err == nil {
		t.Error("it is ready")
	}
}

func TestTheProgramIsLookedForInTheRepository(t *testing.T) {
	t.Chdir(t.TempDir())
	if file, err := installed("it", "emulator/bin/python"); err == nil {
		t.Errorf("found %s", file)
	}
}
