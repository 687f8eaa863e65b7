package main

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// machine describes what a measurement depends on besides the code.
type machine struct {
	Date     string   `json:"date"`
	CPU      string   `json:"cpu"`
	Cores    int      `json:"cores"`
	Kernel   string   `json:"kernel"`
	Sync     float64  `json:"sync_us"` // one fdatasync of 4 KiB, where the stores are
	Versions []string `json:"versions"`
}

func lookAtMachine(folder string, programs map[string]string) (m machine, err error) {
	m = machine{Date: time.Now().Format(time.DateOnly), CPU: "unknown CPU", Cores: runtime.NumCPU()}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if found := regexp.MustCompile(`(?m)^model name\s*: (.+)$`).FindSubmatch(text); found != nil {
			m.CPU = string(found[1])
		}
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return m, err
	}
	m.Kernel = "Linux " + unix.ByteSliceToString(name.Release[:])
	if m.Sync, err = syncTime(folder); err != nil {
		return m, err
	}
	wrk, err := wrkVersion()
	if err != nil {
		return m, err
	}
	m.Versions = []string{runtime.Version(), wrk}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return m, err
		}
		for _, d := range info.Deps {
			if slices.ContainsFunc(named, func(path string) bool { return path == d.Path }) {
				m.Versions = append(m.Versions, version(d))
			}
		}
	}
	slices.Sort(m.Versions)
	m.Versions = slices.Compact(m.Versions)
	return m, nil
}

// named lists the modules whose versions are printed.
var named = []string{
	"github.com/getkin/kin-openapi", "github.com/go-chi/chi/v5", "github.com/oapi-codegen/nethttp-middleware",
	"github.com/ogen-go/ogen", "github.com/pocketbase/pocketbase",
}

func version(d *debug.Module) string {
	path := strings.TrimSuffix(d.Path, "/v5")
	return path[strings.LastIndexByte(path, '/')+1:] + " " + d.Version
}

// syncTime returns the median time in microseconds of one fdatasync of 4 KiB.
func syncTime(folder string) (float64, error) {
	f, err := os.Create(filepath.Join(folder, "sync"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var times []float64
	for range 100 {
		start := time.Now()
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return 0, err
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return 0, err
		}
		times = append(times, float64(time.Since(start).Nanoseconds())/1000)
	}
	return median(times), nil
}
