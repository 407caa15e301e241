package objects

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory keeps objects in memory, by "BUCKET/KEY".
type Memory struct {
	mu    sync.Mutex
	texts map[string]string
}

// NewMemory returns a store with a copy of the objects.
func NewMemory(texts map[string]string) *Memory {
	m := &Memory{texts: map[string]string{}}
	maps.Copy(m.texts, texts)
	return m
}

// Texts returns a copy of the objects.
func (m *Memory) Texts() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.texts)
}

// Get implements [Store].
func (m *Memory) Get(_ context.Context, bucket, key string) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, ok := m.texts[bucket+"/"+key]
	if !ok {
		return nil, fmt.Errorf("object s3://%s/%s does not exist", bucket, key)
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

// List implements [Store].
func (m *Memory) List(_ context.Context, bucket, prefix, after string) (found []Object, err error) {
	texts := m.Texts()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		key, ok := strings.CutPrefix(name, bucket+"/")
		if ok && strings.HasPrefix(key, prefix) && key > after {
			found = append(found, objectOf(key, []byte(texts[name]), time.Time{}.AddDate(1969, 0, 0)))
		}
	}
	return found, nil
}

// Put implements [Store].
func (m *Memory) Put(_ context.Context, bucket, key string, content []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.texts[bucket+"/"+key] = string(content)
	return nil
}
