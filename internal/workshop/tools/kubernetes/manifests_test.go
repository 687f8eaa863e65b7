package kubernetes

import (
	"errors"
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

	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

const deployment, statefulSet = "kubernetes.yaml", "kubernetes-sqlite.yaml"

// The manifests fit each other and the program, and each of the mistakes below is found.
func TestManifests(t *testing.T) {
	f := programFacts(t)
	stores := map[string]string{deployment: postgres(t), statefulSet: ""}
	for file, store := range stores {
		if err := f.check(t, read(t, file), store); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for name, c := range manifestMistakes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mistake := edit{old: c.old, new: c.new, want: c.want}
			mistake.found(t, f.check(t, mistake.in(t, read(t, c.file)), stores[c.file]))
		})
	}
}

// manifestMistakes are edits of the manifests.
var manifestMistakes = map[string]struct{ file, old, new, want string }{
	"an unknown flag":              {statefulSet, "args: [serve]", "args: [serve, --listen=:8080]", "unknown flag --listen"},
	"an unknown command":           {statefulSet, "args: [serve]", "args: [server]", `unknown command "server"`},
	"an unknown variable":          {deployment, "name: PLANTSTORE_ADDR", "name: PLANTSTORE_LISTEN", "no variable PLANTSTORE_LISTEN"},
	"an unknown key of the Secret": {deployment, "PLANTSTORE_STORE:", "PLANTSTORE_DATABASE:", "no variable PLANTSTORE_DATABASE"},
	"another name of the Secret":   {deployment, "secretRef: {name: plantstore}", "secretRef: {name: other}", "no Secret other"},
	"an unknown member":            {deployment, "replicas: 2", "replica: 2", "unknown field"},
	"a duplicate member":           {deployment, "replicas: 2", "replicas: 2\n  replicas: 3", "already set"},
	"another port":                 {deployment, "containerPort: 8080", "containerPort: 8081", "PLANTSTORE_ADDR"},
	"another admin port":           {statefulSet, "containerPort: 9090", "containerPort: 9091", "PLANTSTORE_ADMIN_ADDR"},
	"a listener on loopback":       {deployment, "\":9090\"", "127.0.0.1:9090", "want all addresses"},
	"another port of the Service":  {deployment, "targetPort: http", "targetPort: web", "no port web"},
	"another port for Prometheus":  {deployment, "prometheus.io/port: \"9090\"", "prometheus.io/port: \"8080\"", "Prometheus uses the port 8080"},
	"another path for Prometheus":  {statefulSet, "path: /metrics", "path: /metric", "/metric of"},
	"another path of a probe":      {statefulSet, "path: /livez", "path: /healthz", "/healthz of"},
	"a probe of the public port":   {deployment, "path: /readyz, port: admin", "path: /readyz, port: http", "port http"},
	"a Service of nothing":         {deployment, "selector: {app.kubernetes.io/name: plantstore}", "selector: {app.kubernetes.io/name: plants}", "does not select the pods"},
	"a short grace period":         {deployment, "terminationGracePeriodSeconds: 40", "terminationGracePeriodSeconds: 30", "want more than the sleep of 5s and the drain of 25s"},
	"a long sleep":                 {statefulSet, "sleep: {seconds: 5}", "sleep: {seconds: 15}", "want more than the sleep of 15s and the drain of 25s"},
	"an impatient livenessProbe":   {deployment, "periodSeconds: 10\n            timeoutSeconds: 5\n            failureThreshold: 3", "periodSeconds: 1\n            timeoutSeconds: 1\n            failureThreshold: 2", "the livenessProbe fails after 2s"},
	"an impatient readinessProbe":  {statefulSet, "timeoutSeconds: 2", "timeoutSeconds: 1", "/readyz takes 1s, want less than 1s"},
	"little memory":                {deployment, "limits: {memory: 1Gi}", "limits: {memory: 256Mi}", "memory limit 256Mi is too low"},
	"a file on no volume":          {statefulSet, "mountPath: /data", "mountPath: /plants", "is on no volume"},
	"two servers with a file":      {statefulSet, "replicas: 1", "replicas: 2", "cannot share a file"},
	"a disruption of all servers":  {deployment, "\n  maxUnavailable: 1", "\n  maxUnavailable: 2", "may stop all 2 servers"},
	"another user":                 {deployment, "runAsUser: 65532", "runAsUser: 1000", "runs as the user of the image"},
	"a root that can be written":   {statefulSet, "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "cannot write to its root"},
	"a replica that others read":   {statefulSet, "umask 077; rm", "rm", "files of the container fetch can be read by others"},
	"another name of the replica":  {statefulSet, "-o /data/replica.db", "-o /data/plantstore.db", "does not run -o /data/replica.db"},
	"another store to restore":     {statefulSet, "{name: PLANTSTORE_STORE, value: /data/plantstore.db}", "{name: PLANTSTORE_STORE, value: /data/other.db}", "another image or store"},
	"a restore that must work":     {statefulSet, "restore, --if-missing,", "restore,", "the container restore"},
	"a copy at the start only":     {statefulSet, "          restartPolicy: Always\n", "", "does not run beside the service"},
	"a heartbeat to another port":  {statefulSet, "127.0.0.1:9090/heartbeat", "127.0.0.1:8080/heartbeat", "reports to http://127.0.0.1:8080"},
	"a missing volume":             {statefulSet, "- name: litestream\n          configMap", "- name: other\n          configMap", "there is no volume litestream"},
	"variables of Services":        {deployment, "enableServiceLinks: false", "enableServiceLinks: true", "no variables of Services"},
}

// check returns what is wrong with a file of manifests: first without the program,
// then with the program, which runs as the container would, on the given store.
func (f facts) check(t *testing.T, text, store string) error {
	m, err := decode(text)
	if err != nil {
		return err
	}
	if err := errors.Join(m.checkReferences(f), m.checkSecurity(read(t, "Dockerfile")), m.checkPeriods(f),
		m.checkLitestream(read(t, "litestream.yml"))); err != nil {
		return err
	}
	return m.checkProgram(t, store)
}

// checkReferences checks the names and ports that one part of the manifests, or
// the program, takes from another.
func (m *manifest) checkReferences(f facts) error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, s := range m.selectors {
		if s.Empty() || !s.Matches(labels.Set(m.pods.Labels)) {
			fault("a selector %s does not select the pods", s)
		}
	}
	port := func(name string) int32 {
		i := slices.IndexFunc(m.container.Ports, func(p corev1.ContainerPort) bool { return p.Name == name })
		if i < 0 {
			fault("the container has no port %s", name)
			return 0
		}
		return m.container.Ports[i].ContainerPort
	}
	for _, p := range m.ports {
		port(p.StrVal)
	}
	for _, probe := range []*corev1.Probe{m.container.LivenessProbe, m.container.ReadinessProbe} {
		if probe.HTTPGet.Port.StrVal != "admin" {
			fault("a probe uses the port %s, want admin", &probe.HTTPGet.Port)
		}
	}
	for name, variable := range map[string]string{"http": "PLANTSTORE_ADDR", "admin": "PLANTSTORE_ADMIN_ADDR"} {
		host, number, err := net.SplitHostPort(m.env[variable])
		if err != nil || host != "" || number != strconv.Itoa(int(port(name))) {
			fault("%s is %q, want all addresses and the port %s", variable, m.env[variable], name)
		}
	}
	if scraped := m.pods.Annotations["prometheus.io/port"]; scraped != strconv.Itoa(int(port("admin"))) {
		fault("Prometheus uses the port %s, want admin", scraped)
	}
	for name := range m.env {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(f.help) {
			fault("the program has no variable %s", name)
		}
	}
	var mounts []string
	for _, mount := range m.container.VolumeMounts {
		mounts = append(mounts, mount.MountPath)
	}
	for _, mount := range slices.Concat(m.container.VolumeMounts, m.initMounts()) {
		if !slices.Contains(m.volumes, mount.Name) {
			fault("there is no volume %s", mount.Name)
		}
	}
	switch store := m.env["PLANTSTORE_STORE"]; {
	case strings.HasPrefix(store, "postgres://"):
		if m.budget == nil || m.budget.Spec.MaxUnavailable.IntValue() >= int(*m.replicas) {
			fault("a disruption may stop all %d servers", *m.replicas)
		}
		if m.rolling == nil || m.rolling.MaxUnavailable.IntValue() != 0 {
			fault("an upgrade stops a server before the next one is ready")
		}
	case !slices.Contains(mounts, path.Dir(store)):
		fault("the file %s is on no volume", store)
	case *m.replicas != 1:
		fault("%d servers cannot share a file", *m.replicas)
	}
	return errors.Join(errs...)
}

// checkSecurity checks the restrictions of the container.
func (m *manifest) checkSecurity(dockerfile string) error {
	user := regexp.MustCompile(`(?m)^USER ([0-9]+):([0-9]+)$`).FindStringSubmatch(dockerfile)
	pod := m.pods.Spec.SecurityContext
	is := func(p *bool, want bool) bool { return p != nil && *p == want }
	every := func(holds func(*corev1.SecurityContext) bool) bool {
		return !slices.ContainsFunc(append(m.pods.Spec.InitContainers, m.container), func(c corev1.Container) bool {
			return c.SecurityContext == nil || !holds(c.SecurityContext)
		})
	}
	var errs []error
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
			errs = append(errs, fmt.Errorf("it is not true that the container %s", what))
		}
	}
	return errors.Join(errs...)
}

// checkPeriods compares the periods with those of the program.
func (m *manifest) checkPeriods(f facts) error {
	var errs []error
	seconds := func(n int64) time.Duration { return time.Duration(n) * time.Second }
	sleep := seconds(m.container.Lifecycle.PreStop.Sleep.Seconds)
	if grace := seconds(*m.pods.Spec.TerminationGracePeriodSeconds); grace <= sleep+f.drain {
		errs = append(errs, fmt.Errorf("terminationGracePeriodSeconds is %v, want more than the sleep of %v and the drain of %v", grace, sleep, f.drain))
	}
	live := m.container.LivenessProbe
	if patience := seconds(int64(live.InitialDelaySeconds + live.PeriodSeconds*live.FailureThreshold)); patience <= f.gives {
		errs = append(errs, fmt.Errorf("the livenessProbe fails after %v, want more than the start, %v", patience, f.gives))
	}
	for _, probe := range []*corev1.Probe{live, m.container.ReadinessProbe} {
		if probe.TimeoutSeconds > probe.PeriodSeconds {
			errs = append(errs, fmt.Errorf("the probe of %s may take %d s, want at most its period of %d s", probe.HTTPGet.Path, probe.TimeoutSeconds, probe.PeriodSeconds))
		}
	}
	return errors.Join(errs...)
}

func (m *manifest) initMounts() (all []corev1.VolumeMount) {
	for _, c := range m.pods.Spec.InitContainers {
		all = append(all, c.VolumeMounts...)
	}
	return all
}

// checkLitestream compares the containers that restore a missing store, and the one that
// copies it, with each other, with the service, and with the configuration of Litestream.
func (m *manifest) checkLitestream(config string) error {
	if len(m.pods.Spec.InitContainers) == 0 {
		return nil
	}
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	var names []string
	for _, c := range m.pods.Spec.InitContainers {
		names = append(names, c.Name)
		if c.Command != nil && !strings.HasPrefix(c.Args[0], "umask 077; ") {
			fault("files of the container %s can be read by others", c.Name)
		}
		if c.VolumeMounts[0] != m.container.VolumeMounts[0] {
			fault("in the container %s the file is on no volume", c.Name)
		}
	}
	if want := []string{"fetch", "restore", "litestream"}; !slices.Equal(names, want) {
		return fmt.Errorf("the init containers are %q, want %q", names, want)
	}
	fetch, restore, litestream := m.pods.Spec.InitContainers[0], m.pods.Spec.InitContainers[1], m.pods.Spec.InitContainers[2]
	store, replica := m.env["PLANTSTORE_STORE"], restore.Args[len(restore.Args)-1]
	if restore.Image != m.container.Image || restore.Env[0] != (corev1.EnvVar{Name: "PLANTSTORE_STORE", Value: store}) {
		fault("the container restore has another image or store than the service")
	}
	for _, want := range []string{"rm -f " + replica + ";", "[ -e " + store + " ]", "-o " + replica + " "} {
		if !strings.Contains(fetch.Args[0], want) {
			fault("the container fetch does not run %s", want)
		}
	}
	if litestream.RestartPolicy == nil || *litestream.RestartPolicy != corev1.ContainerRestartPolicyAlways {
		fault("the container litestream does not run beside the service")
	}
	given := map[string]string{"LITESTREAM_REPLICA_URL": "", "LITESTREAM_ADDR": ""} // in the Secret, and none
	for _, v := range litestream.Env {
		given[v.Name] = v.Value
	}
	_, admin, _ := net.SplitHostPort(m.env["PLANTSTORE_ADMIN_ADDR"])
	if given["LITESTREAM_FILE"] != store || given["LITESTREAM_HEARTBEAT_URL"] != "http://127.0.0.1:"+admin+"/heartbeat" {
		fault("the container litestream copies %s, and reports to %s", given["LITESTREAM_FILE"], given["LITESTREAM_HEARTBEAT_URL"])
	}
	for _, variable := range regexp.MustCompile(`\$\{(\w+)\}`).FindAllStringSubmatch(config, -1) {
		if _, ok := given[variable[1]]; !ok {
			fault("the container litestream has no variable %s", variable[1])
		}
	}
	return errors.Join(errs...)
}

// checkProgram runs the program with the arguments and variables of the container,
// on any free ports, and sends the requests of Kubernetes and Prometheus.
func (m *manifest) checkProgram(t *testing.T, store string) error {
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
			return fmt.Errorf("the container %s: %w: %s", c.Name, err, out)
		}
	}
	r, err := program.LaunchCommand(container(dir, env, m.container.Args))
	if err != nil {
		return err
	}
	var errs []error
	expect := func(listener, host, path string, timeout time.Duration, want int) string {
		status, body, err := get(listener, host, path, timeout)
		if err != nil || status != want {
			errs = append(errs, fmt.Errorf("%s of %s is %d %s, want %d: %w", path, host, status, body, want, err))
		}
		return body
	}
	const kubelet, service = scraper, "plantstore.default.svc.cluster.local"
	live, ready := m.container.LivenessProbe, m.container.ReadinessProbe
	expect(r.AdminURL, kubelet, live.HTTPGet.Path, time.Duration(live.TimeoutSeconds)*time.Second, 200)
	expect(r.AdminURL, kubelet, ready.HTTPGet.Path, time.Duration(ready.TimeoutSeconds)*time.Second, 200)
	expect(r.URL, service, "/docs", wait.Limit, 200)
	scrape := expect(r.AdminURL, service+":9090", m.pods.Annotations["prometheus.io/path"], wait.Limit, 200)

	// GOMEMLIMIT is three quarters of what the program uses.
	if limit := regexp.MustCompile(`(?m)^go_gc_gomemlimit_bytes (\S+)$`).FindStringSubmatch(scrape); limit == nil {
		errs = append(errs, errors.New("the metrics have no go_gc_gomemlimit_bytes"))
	} else if bytes, err := strconv.ParseFloat(limit[1], 64); err != nil || m.container.Resources.Limits.Memory().AsApproximateFloat64() < bytes/3*4 {
		errs = append(errs, fmt.Errorf("the memory limit %s is too low for the program, which uses up to %.0f MiB: %v",
			m.container.Resources.Limits.Memory(), bytes/3*4/(1<<20), err))
	}

	// The store does not respond: another program holds the five locks for readers of
	// SQLite, which are the bytes from 123 of this file. A read of the service holds one
	// for less than a millisecond.
	if store == "" {
		shm, err := os.OpenFile(dir+"/plantstore.db-shm", os.O_RDWR, 0)
		if err == nil {
			lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: 123, Len: 5}
			err = syscall.FcntlFlock(shm.Fd(), syscall.F_SETLKW, &lock)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("lock the file: %w", err))
		}
		expect(r.AdminURL, kubelet, live.HTTPGet.Path, time.Duration(live.TimeoutSeconds)*time.Second, 200)
		timeout, took := time.Duration(ready.TimeoutSeconds)*time.Second, wait.Limit
		for try := 0; try < 3 && took >= timeout; try++ { // a busy machine may delay a response
			begin := time.Now()
			expect(r.AdminURL, kubelet, ready.HTTPGet.Path, wait.Limit, 503)
			took = time.Since(begin).Truncate(time.Second)
		}
		if took >= timeout {
			errs = append(errs, fmt.Errorf("%s takes %v, want less than %v", ready.HTTPGet.Path, took, timeout))
		}
		shm.Close()
	}
	r.End(t, syscall.SIGTERM)
	return errors.Join(errs...)
}
