package libtorch

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed cpp/graphs.cpp
var graphsSource []byte

// GraphsLibrary is the file name of the library for CUDA graphs. stoker-torch opens it after libtorch_cuda.so, from
// its own folder or from where make cuda left it.
const GraphsLibrary = "libstoker_cuda.so"

// graphs builds the library for CUDA graphs and returns its path. Without it everything works, but recorded updates run
// operation by operation on a GPU: the error says why it can't be built.
func (o Options) graphs(ctx context.Context, r Fitted, log func(string)) (string, error) {
	t := r.Torch
	if t.CUDA == "" || !exists(filepath.Join(t.Lib, "libtorch_cuda.so")) {
		return "", fmt.Errorf("torch %s in %s is built for the CPU only", t.Version(), t.Root)
	}
	cxx, err := o.compiler(ctx, log)
	if err != nil {
		return "", err
	}
	include, err := o.cudaInclude(ctx, t, log)
	if err != nil {
		return "", err
	}
	flags := t.compileFlags()
	for _, dir := range include {
		flags = append(flags, "-I"+dir)
	}
	h := sha256.New()
	fmt.Fprintln(h, t.Hash, cxx.version, flags)
	h.Write(graphsSource)
	dir := filepath.Join(r.Dir, "graphs-"+hex.EncodeToString(h.Sum(nil))[:12])
	path := filepath.Join(dir, GraphsLibrary)
	if exists(path) && !o.Refit {
		return path, nil
	}
	log("compiling the library for CUDA graphs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := writeFile(filepath.Join(dir, "graphs.cpp"), graphsSource); err != nil {
		return "", err
	}
	// Nothing undefined may be left: this machine may have no GPU to find out on. No search path: the libraries are
	// loaded by then.
	args := slices.Concat(flags, []string{
		"-O2", "-fPIC", "-shared", "graphs.cpp", "-o", GraphsLibrary + ".new",
		"-L" + t.Lib, "-Wl,-z,defs", "-ltorch_cuda", "-lc10_cuda", "-ltorch_cpu", "-lc10",
	})
	if _, err := o.sys.run(ctx, cxx.command(dir, args...)); err != nil {
		return "", fmt.Errorf("compiling the library for CUDA graphs: %w", err)
	}
	return path, os.Rename(path+".new", path)
}

// cudaHeaders are needed by those of libtorch_cuda. CUDA 13 keeps the second in a wheel of its own.
var cudaHeaders = []string{"cuda_runtime_api.h", "crt/host_config.h"}

// cudaInclude lists the folders that hold CUDA's headers: beside the libraries, of an installed toolkit, or fetched.
func (o Options) cudaInclude(ctx context.Context, t Torch, log func(string)) ([]string, error) {
	var places []string
	for _, dir := range t.LibDirs {
		places = append(places, filepath.Join(filepath.Dir(dir), "include"))
	}
	if home := o.sys.env("CUDA_HOME"); home != "" {
		places = append(places, filepath.Join(home, "include"))
	}
	places = append(places, "/usr/local/cuda/include")
	extra := filepath.Join(o.torches(), "headers-cuda"+t.CUDA)
	fetched, err := filepath.Glob(filepath.Join(extra, "nvidia", "*", "include"))
	if err != nil {
		return nil, err
	}
	found, missing := holding(append(places, fetched...))
	if missing == cudaHeaders[1] {
		if err := o.fetchHeaders(ctx, t, extra, log); err != nil {
			return nil, fmt.Errorf("%s is in none of %s, nor to be fetched: %w", missing, strings.Join(places, ", "),
				err)
		}
		if fetched, err = filepath.Glob(filepath.Join(extra, "nvidia", "*", "include")); err != nil {
			return nil, err
		}
		found, missing = holding(append(places, fetched...))
	}
	if missing != "" {
		return nil, fmt.Errorf("%s is in none of %s; install the CUDA %s headers or set CUDA_HOME", missing,
			strings.Join(places, ", "), t.CUDA)
	}
	return found, nil
}

// holding returns the first folder for each of the headers, and the first header that is in none.
func holding(places []string) (found []string, missing string) {
	for _, header := range cudaHeaders {
		i := slices.IndexFunc(places, func(dir string) bool { return exists(filepath.Join(dir, header)) })
		if i < 0 {
			return found, header
		}
		if !slices.Contains(found, places[i]) {
			found = append(found, places[i])
		}
	}
	return found, ""
}

// fetchHeaders brings the small wheel with the compiler's part of CUDA's headers.
func (o Options) fetchHeaders(ctx context.Context, t Torch, to string, log func(string)) error {
	if t.CUDA == "" || !o.wants(FromPip) {
		return errors.New("fetching is not wanted")
	}
	pip, err := o.pip(ctx, log)
	if err != nil {
		return err
	}
	work, done, err := workFolder(o.torches())
	if err != nil {
		return err
	}
	defer done()
	asked := "nvidia-cuda-crt==" + t.CUDA + ".*"
	log("fetching " + asked + " (0.2 MB)")
	site := filepath.Join(work, "site")
	if _, err := o.firstTag(func(tag string) error {
		_, _, err := pip.download(ctx, work, site, append(o.tags(ctx, tag), "--no-deps", asked))
		return err
	}); err != nil {
		return err
	}
	return replaceFolder(site, to)
}
