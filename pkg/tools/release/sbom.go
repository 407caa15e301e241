package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"

	"github.com/waitless/waitless/pkg/release"
)

// list writes which modules the binaries link, as an SBOM in the form of CycloneDX. It has neither
// a serial number nor a time, which would differ between two builds.
func (b *build) list() error {
	linked := map[string]cyclonedx.Component{}
	for _, binary := range b.binaries {
		info, err := buildinfo.ReadFile(binary)
		if err != nil {
			return err
		}
		std := &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}
		for _, module := range append(info.Deps, std) {
			component, err := componentOf(module)
			if err != nil {
				return err
			}
			linked[component.BOMRef] = component
		}
	}
	return b.write(slices.SortedFunc(maps.Values(linked), func(x, y cyclonedx.Component) int { return cmp.Compare(x.BOMRef, y.BOMRef) }))
}

// componentOf returns the component of a module, with the hash that go.sum has.
func componentOf(module *debug.Module) (cyclonedx.Component, error) {
	if module.Replace != nil {
		return cyclonedx.Component{}, fmt.Errorf("module %s is replaced: a release links modules as they are published", module.Path)
	}
	purl := "pkg:golang/" + module.Path + "@" + module.Version
	c := cyclonedx.Component{BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: module.Path, Version: module.Version, PackageURL: purl}
	if sum, ok := strings.CutPrefix(module.Sum, "h1:"); ok {
		hash, err := base64.StdEncoding.DecodeString(sum)
		if err != nil {
			return c, fmt.Errorf("module %s: %w", module.Path, err)
		}
		c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(hash)}}
	}
	return c, nil
}

func (b *build) write(components []cyclonedx.Component) error {
	purl := "pkg:golang/" + repository + "@v" + release.Version
	refs := make([]string, len(components))
	for i := range components {
		refs[i] = components[i].BOMRef
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &cyclonedx.Component{
		BOMRef: purl, Type: cyclonedx.ComponentTypeApplication, Name: "waitless", Version: release.Version, PackageURL: purl,
		Properties: &[]cyclonedx.Property{{Name: "waitless:commit", Value: b.commit}},
	}}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: purl, Dependencies: &refs}}
	out, err := os.Create(filepath.Join(b.out, "waitless_"+release.Version+".cdx.json"))
	if err != nil {
		return err
	}
	defer out.Close() //nolint:errcheck // Encode reports what cannot be written
	return cyclonedx.NewBOMEncoder(out, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
}
