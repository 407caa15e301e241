package objects

import (
	"context"
	"crypto/md5" //nolint:gosec // the ETag of an object is no secret
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Folder has a folder for each bucket, and below it the objects as files.
type Folder string

// open opens the folder of a bucket. No key leads out of it.
func (f Folder) open(bucket string) (*os.Root, error) {
	if !filepath.IsLocal(bucket) || strings.ContainsAny(bucket, `/\`) {
		return nil, fmt.Errorf("bucket %q is not the name of a folder", bucket)
	}
	root, err := os.OpenRoot(filepath.Join(string(f), bucket))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("bucket %q is not a folder of %s; create it", bucket, f)
	}
	return root, err
}

// Get implements [Store].
func (f Folder) Get(_ context.Context, bucket, key string) (io.ReadCloser, error) {
	root, err := f.open(bucket)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // nothing is written to it
	return root.Open(filepath.FromSlash(key))
}

// List implements [Store].
func (f Folder) List(_ context.Context, bucket, prefix, after string) (found []Object, err error) {
	root, err := f.open(bucket)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // nothing is written to it
	err = fs.WalkDir(root.FS(), ".", func(key string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !strings.HasPrefix(key, prefix) || key <= after {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content, err := fs.ReadFile(root.FS(), key)
		found = append(found, objectOf(key, content, info.ModTime()))
		return err
	})
	slices.SortFunc(found, func(a, b Object) int { return strings.Compare(a.Key, b.Key) })
	return found, err
}

func objectOf(key string, content []byte, modified time.Time) Object {
	sum := md5.Sum(content) //nolint:gosec // see above
	return Object{Key: key, ETag: `"` + hex.EncodeToString(sum[:]) + `"`, StorageClass: "STANDARD", Size: int64(len(content)), Modified: modified}
}

// Put implements [Store].
func (f Folder) Put(_ context.Context, bucket, key string, content []byte) error {
	root, err := f.open(bucket)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // the file is closed
	const fileMode, folderMode = 0o644, 0o755
	name := filepath.FromSlash(key)
	if err := root.MkdirAll(filepath.Dir(name), folderMode); err != nil {
		return err
	}
	return root.WriteFile(name, content, fileMode)
}
