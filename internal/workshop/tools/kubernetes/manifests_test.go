package kubernetes

import (
	"fmt"
	"net"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// The manifests fit each other and the program.
func TestManifests(t *testing.T) {
	f := programFacts(t)
	for file, store := range map[string]string{"kubernetes.yaml": postgres(t), "kubernetes-sqlite.yaml": ""} {
		t.Run(file, func(t *testing.T) {
			m := decode(t, file)
			m.checkReferences(t, f)
			m.checkSecurity(t)
			m.checkPeriods(t, f)
			m.checkLitestream(t)
			m.checkProgram(t, store)
		})
	}
}

// checkReferences checks the names and ports that one part of the manifests, or
// the program, takes from another.
func (m *manifest) checkReferences(t *testing.T, f facts) {
	for _, s := range m.selectors {
		if s.Empty() || !s.Matches(labels.Set(m.pods.Labels)) {
			t.Errorf("a selector %s does not select the pods", s)
		}
	}
	port := func(name string) int32 {
		i := slices.IndexFunc(m.container.Ports, func(p corev1.ContainerPort) bool { return p.Name == name })
		if i < 0 {
			t.Errorf("the container has no port %s", name)
			return 0
		}
		return m.container.Ports[i].ContainerPort
	}
	for _, p := range m.ports {
		port(p.StrVal)
	}
	for _, probe := range []*corev1.Probe{m.container.LivenessProbe, m.container.ReadinessProbe} {
		if probe.HTTPGet.Port.StrVal != "admin" {
			t.Errorf("a probe uses the port %s, want admin", &probe.HTTPGet.Port)
		}
	}
	for name, variable := range map[string]string{"http": "PLANTSTORE_ADDR", "admin": "PLANTSTORE_ADMIN_ADDR"} {
		host, number, err := net.SplitHostPort(m.env[variable])
		if err != nil || host != "" || number != strconv.Itoa(int(port(name))) {
			t.Errorf("%s is %q, want all addresses and the port %s", variable, m.env[variable], name)
		}
	}
	if scraped := m.pods.Annotations["prometheus.io/port"]; scraped != strconv.Itoa(int(port("admin"))) {
		t.Errorf("Prometheus uses the port %s, want admin", scraped)
	}
	for name := range m.env {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(f.help) {
			t.Errorf("the program has no variable %s", name)
		}
	}
	for _, mount := range slices.Concat(m.container.VolumeMounts, m.initMounts()) {
		if !slices.Contains(m.volumes, mount.Name) {
			t.Errorf("there is no volume %s", mount.Name)
		}
	}
	switch store := m.env["PLANTSTORE_STORE"]; {
	case strings.HasPrefix(store, "postgres://"):
		if m.budget == nil || m.budget.Spec.MaxUnavailable.IntValue() >= int(*m.replicas) {
			t.Errorf("a disruption may stop all %d servers", *m.replicas)
		}
		if m.rolling == nil || m.rolling.MaxUnavailable.IntValue() != 0 {
			t.Errorf("an upgrade stops a server before the next one is ready")
		}
	case !m.mounts(path.Dir(store)):
		t.Errorf("the file %s is on no volume", store)
	case *m.replicas != 1:
		t.Errorf("%d servers cannot share a file", *m.replicas)
	}
}

// checkSecurity checks the restrictions of the container.
func (m *manifest) checkSecurity(t *testing.T) {
	user := regexp.MustCompile(`(?m)^USER ([0-9]+):([0-9]+)$`).FindStringSubmatch(read(t, "Dockerfile"))
	pod := m.pods.Spec.SecurityContext
	is := func(p *bool, want bool) bool { return p != nil && *p == want }
	every := func(holds func(*corev1.SecurityContext) bool) bool {
		return !slices.ContainsFunc(append(m.pods.Spec.InitContainers, m.container), func(c corev1.Container) bool {
			return c.SecurityContext == nil || !holds(c.SecurityContext)
		})
	}
	for what, holds := range map[string]bool{
		"runs as the user of the image": user != nil && fmt.Sprint(*pod.RunAsUser, *pod.RunAsGroup) == user[1]+" "+user[2] && is(pod.RunAsNonRoot, true),
		"owns its volumes":              len(m.volumes) == 0 || pod.FSGroup != nil && *pod.FSGroup == *pod.RunAsGroup,
		"has the default seccomp":       pod.SeccompProfile != nil && pod.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
		"cannot write to its root":      every(func(c *corev1.SecurityContext) bool { return is(c.ReadOnlyRootFilesystem, true) }),
		"gains no privileges":           every(func(c *corev1.SecurityContext) bool { return is(c.AllowPrivilegeEscalation, false) }),
		"has no capability": every(func(c *corev1.SecurityContext) bool {
			return c.Capabilities != nil && slices.Equal(c.Capabilities.Drop, []corev1.Capability{"ALL"}) && c.Capabilities.Add == nil
		}),
		"has no token of the cluster":   is(m.pods.Spec.AutomountServiceAccountToken, false),
		"has no variables of Services":  is(m.pods.Spec.EnableServiceLinks, false),
		"runs the program of the image": m.container.Command == nil,
	} {
		if !holds {
			t.Errorf("it is not true that the container %s", what)
		}
	}
}

// checkPeriods compares the periods with those of the program.
func (m *manifest) checkPeriods(t *testing.T, f facts) {
	sleep := seconds(int32(m.container.Lifecycle.PreStop.Sleep.Seconds))
	if grace := seconds(int32(*m.pods.Spec.TerminationGracePeriodSeconds)); grace <= sleep+f.drain {
		t.Errorf("terminationGracePeriodSeconds is %v, want more than the sleep of %v and the drain of %v", grace, sleep, f.drain)
	}
	live := m.container.LivenessProbe
	if patience := seconds(live.InitialDelaySeconds + live.PeriodSeconds*live.FailureThreshold); patience <= f.gives {
		t.Errorf("the livenessProbe fails after %v, want more than the start, %v", patience, f.gives)
	}
	for _, probe := range []*corev1.Probe{live, m.container.ReadinessProbe} {
		if probe.TimeoutSeconds > probe.PeriodSeconds {
			t.Errorf("the probe of %s may take %d s, want at most its period of %d s", probe.HTTPGet.Path, probe.TimeoutSeconds, probe.PeriodSeconds)
		}
	}
}

func (m *manifest) initMounts() (all []corev1.VolumeMount) {
	for _, c := range m.pods.Spec.InitContainers {
		all = append(all, c.VolumeMounts...)
	}
	return all
}

// checkLitestream compares the containers that restore a missing store, and the one that
// copies it, with each other, with the service, and with the configuration of Litestream.
func (m *manifest) checkLitestream(t *testing.T) {
	if len(m.pods.Spec.InitContainers) == 0 {
		return
	}
	var names []string
	for _, c := range m.pods.Spec.InitContainers {
		names = append(names, c.Name)
		if c.Command != nil && !strings.HasPrefix(c.Args[0], "umask 077; ") {
			t.Errorf("files of the container %s can be read by others", c.Name)
		}
		if c.VolumeMounts[0] != m.container.VolumeMounts[0] {
			t.Errorf("in the container %s the file is on no volume", c.Name)
		}
	}
	if want := []string{"fetch", "restore", "litestream"}; !slices.Equal(names, want) {
		t.Fatalf("the init containers are %q, want %q", names, want)
	}
	fetch, restore, litestream := m.pods.Spec.InitContainers[0], m.pods.Spec.InitContainers[1], m.pods.Spec.InitContainers[2]
	store, replica := m.env["PLANTSTORE_STORE"], restore.Args[len(restore.Args)-1]
	if restore.Image != m.container.Image || restore.Env[0] != (corev1.EnvVar{Name: "PLANTSTORE_STORE", Value: store}) {
		t.Errorf("the container restore has another image or store than the service")
	}
	for _, want := range []string{"rm -f " + replica + ";", "[ -e " + store + " ]", "-o " + replica + " "} {
		if !strings.Contains(fetch.Args[0], want) {
			t.Errorf("the container fetch does not run %s", want)
		}
	}
	if litestream.RestartPolicy == nil || *litestream.RestartPolicy != corev1.ContainerRestartPolicyAlways {
		t.Errorf("the container litestream does not run beside the service")
	}
	given := map[string]string{"LITESTREAM_REPLICA_URL": "", "LITESTREAM_ADDR": ""} // in the Secret, and none
	for _, v := range litestream.Env {
		given[v.Name] = v.Value
	}
	_, admin, _ := net.SplitHostPort(m.env["PLANTSTORE_ADMIN_ADDR"])
	if given["LITESTREAM_FILE"] != store || given["LITESTREAM_HEARTBEAT_URL"] != "http://127.0.0.1:"+admin+"/heartbeat" {
		t.Errorf("the container litestream copies %s, and reports to %s", given["LITESTREAM_FILE"], given["LITESTREAM_HEARTBEAT_URL"])
	}
	for _, variable := range regexp.MustCompile(`\$\{(\w+)\}`).FindAllStringSubmatch(read(t, "litestream.yml"), -1) {
		if _, ok := given[variable[1]]; !ok {
			t.Errorf("the container litestream has no variable %s", variable[1])
		}
	}
}

// checkProgram runs the program with the arguments and variables of the container,
// on any free ports, and sends the requests of Kubernetes and Prometheus.
func (m *manifest) checkProgram(t *testing.T, store string) {
	dir := t.TempDir()
	var env []string
	for name, value := range m.env {
		switch name {
		case "PLANTSTORE_ADDR", "PLANTSTORE_ADMIN_ADDR":
			value = ":0"
		case "PLANTSTORE_STORE":
			if value = store; store == "" {
				value = dir + "/plantstore.db"
			}
		}
		env = append(env, name+"="+value)
	}
	for _, c := range m.pods.Spec.InitContainers { // on a new volume, without a replica
		if c.Image != m.container.Image {
			continue
		}
		var args []string
		for _, arg := range c.Args {
			args = append(args, strings.Replace(arg, "/data", dir, 1))
		}
		if out, err := container(dir, env, args).CombinedOutput(); err != nil {
			t.Errorf("the container %s: %v: %s", c.Name, err, out)
		}
	}
	r, err := program.LaunchCommand(container(dir, env, m.container.Args))
	must.NoError(t, err)
	expect := func(listener, host, path string, timeout time.Duration, want int) string {
		status, body, err := get(listener, host, path, timeout)
		if err != nil || status != want {
			t.Errorf("%s of %s is %d %s, want %d: %v", path, host, status, body, want, err)
		}
		return body
	}
	const kubelet, service = scraper, "plantstore.default.svc.cluster.local"
	live, ready := m.container.LivenessProbe, m.container.ReadinessProbe
	expect(r.AdminURL, kubelet, live.HTTPGet.Path, seconds(live.TimeoutSeconds), 200)
	expect(r.AdminURL, kubelet, ready.HTTPGet.Path, seconds(ready.TimeoutSeconds), 200)
	expect(r.URL, service, "/docs", wait.Limit, 200)
	scrape := expect(r.AdminURL, service+":9090", m.pods.Annotations["prometheus.io/path"], wait.Limit, 200)

	// GOMEMLIMIT is three quarters of what the program uses.
	uses := metricstest.Parse(t, scrape)["go_gc_gomemlimit_bytes"] / 3 * 4
	if limit := m.container.Resources.Limits.Memory(); limit.AsApproximateFloat64() < uses || uses == 0 {
		t.Errorf("the memory limit %s is too low for the program, which uses up to %.0f MiB", limit, uses/(1<<20))
	}

	// The store does not respond: another program holds the five locks for readers of
	// SQLite, which are the bytes from 123 of this file. A read of the service holds one
	// for less than a millisecond.
	if store == "" {
		shm, err := os.OpenFile(dir+"/plantstore.db-shm", os.O_RDWR, 0)
		must.NoError(t, err)
		defer shm.Close()
		must.NoError(t, syscall.FcntlFlock(shm.Fd(), syscall.F_SETLKW, &syscall.Flock_t{Type: syscall.F_WRLCK, Start: 123, Len: 5}))
		expect(r.AdminURL, kubelet, live.HTTPGet.Path, seconds(live.TimeoutSeconds), 200)
		timeout, took := seconds(ready.TimeoutSeconds), wait.Limit
		for try := 0; try < 3 && took >= timeout; try++ { // a busy machine may delay a response
			begin := time.Now()
			expect(r.AdminURL, kubelet, ready.HTTPGet.Path, wait.Limit, 503)
			took = time.Since(begin).Truncate(time.Second)
		}
		if took >= timeout {
			t.Errorf("%s takes %v, want less than %v", ready.HTTPGet.Path, took, timeout)
		}
	}
	r.End(t, syscall.SIGTERM)
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }
