package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"
)

// file is a file of an archive.
type file struct {
	name       string
	content    []byte
	executable bool
}

func (f file) mode() os.FileMode {
	if f.executable {
		return 0o755
	}
	return 0o644
}

// archive writes files into a folder of their own in an archive. The time is the same for all, and
// there are no owners.
func (b *build) archive(folder, ending string, files []file) error {
	write := writeTar
	if ending == ".zip" {
		write = writeZip
	}
	for i := range files {
		files[i].name = path.Join(folder, files[i].name)
	}
	out, err := os.Create(filepath.Join(b.out, folder+ending)) //nolint:gosec // G304: a name of this program
	if err != nil {
		return err
	}
	return errors.Join(write(out, b.at.UTC(), files), out.Close())
}

func writeTar(w io.Writer, at time.Time, files []file) error {
	packed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(packed)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: int64(f.mode()), Size: int64(len(f.content)), ModTime: at, Format: tar.FormatUSTAR}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(f.content); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), packed.Close())
}

func writeZip(w io.Writer, at time.Time, files []file) error {
	out := zip.NewWriter(w)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode())
		entry, err := out.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.content); err != nil {
			return err
		}
	}
	return out.Close()
}
