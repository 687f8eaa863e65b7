package kubernetes

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestWebhook(t *testing.T) {
	if err := checkWebhook(t, read(t, "kubernetes-webhook.yaml")); err != nil {
		t.Error(err)
	}
}

// Each of these edits of the manifest is a mistake that the checks find.
func TestWebhookFaults(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"an unknown flag":             {"args: [webhook]", "args: [webhook, --url=x]", "unknown flag --url"},
		"an unknown command":          {"args: [webhook]", "args: [webhooks]", `unknown command "webhooks"`},
		"an unknown variable":         {"name: PLANTSTORE_FROM", "name: PLANTSTORE_BEGIN", "the program has no variable PLANTSTORE_BEGIN"},
		"an unknown key":              {"key: PLANTSTORE_TO}", "key: PLANTSTORE_URL}", "the Secret has no PLANTSTORE_URL"},
		"two replicas":                {"replicas: 1", "replicas: 2", "2 replicas"},
		"a position on no volume":     {"value: /data/", "value: /tmp/", "/tmp/webhook.json is on no volume"},
		"secrets that are not there":  {"value: /secret/secrets", "value: /secrets/secrets", "/secrets/secrets is on no volume"},
		"a receiver without https":    {"https://example.com", "http://example.com", "must begin with https"},
		"another user":                {"runAsUser: 65532", "runAsUser: 1000", "runs as the user of the image"},
		"another port for Prometheus": {"prometheus.io/port: \"9090\"", "prometheus.io/port: \"9091\"", "PLANTSTORE_ADMIN_ADDR"},
		"another path of the probe":   {"path: /livez", "path: /readyz", "/readyz is 404"},
		"a short grace period":        {"terminationGracePeriodSeconds: 20", "terminationGracePeriodSeconds: 10", "want more than 15"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := read(t, "kubernetes-webhook.yaml")
			edited := strings.Replace(text, c.old, c.new, 1)
			if edited == text {
				t.Fatalf("the manifest has no %q to edit", c.old)
			}
			if err := checkWebhook(t, edited); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q in it", err, c.want)
			}
		})
	}
}

// checkWebhook returns what is wrong with the manifest of plantstore webhook. It runs the program as the container
// would, beside a service and with files of its own.
func checkWebhook(t *testing.T, text string) error {
	m, err := decode(text)
	if err != nil {
		return err
	}
	if err := m.checkSecurity(read(t, "Dockerfile")); err != nil {
		return err
	}
	help, err := exec.Command(plantstore, "webhook", "--help").CombinedOutput()
	if err != nil {
		return err
	}
	dir := t.TempDir()
	service, err := start(dir, []string{"PLANTSTORE_TOKEN=a-token-of-the-test"},
		[]string{"serve", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--store", "sqlite::memory:"}, true)
	if err != nil {
		return err
	}
	defer service.stop()
	const secret = "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"
	if err := os.WriteFile(filepath.Join(dir, "secrets"), []byte(secret), 0o600); err != nil {
		return err
	}
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if *m.replicas != 1 {
		fault("there are %d replicas, and each would send every change", *m.replicas)
	}
	if grace := *m.pods.Spec.TerminationGracePeriodSeconds; grace <= 15 {
		fault("terminationGracePeriodSeconds is %d, want more than 15, the time of an attempt", grace)
	}
	if want := ":" + m.pods.Annotations["prometheus.io/port"]; m.env["PLANTSTORE_ADMIN_ADDR"] != want {
		fault("PLANTSTORE_ADMIN_ADDR is %s, want %s", m.env["PLANTSTORE_ADMIN_ADDR"], want)
	}
	var env []string
	for _, v := range m.container.Env {
		if !strings.Contains(string(help), v.Name) {
			fault("the program has no variable %s", v.Name)
		}
		value := v.Value
		if v.ValueFrom != nil {
			var ok bool
			if value, ok = m.secrets[v.ValueFrom.SecretKeyRef.Name][v.ValueFrom.SecretKeyRef.Key]; !ok {
				fault("the Secret has no %s", v.ValueFrom.SecretKeyRef.Key)
			}
		}
		switch v.Name {
		case "PLANTSTORE_STATE", "PLANTSTORE_SECRET_FILE":
			if !m.mounts(filepath.Dir(value)) {
				fault("%s is on no volume", value)
			}
			value = filepath.Join(dir, filepath.Base(value))
		case "PLANTSTORE_SERVER":
			value = "http://" + net.JoinHostPort("127.0.0.1", service.publicPort)
		case "PLANTSTORE_TOKEN":
			value = "a-token-of-the-test"
		case "PLANTSTORE_ADMIN_ADDR":
			value = ":0"
		}
		env = append(env, v.Name+"="+value)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	relay, err := start(dir, env, m.container.Args, false)
	if err != nil {
		return err
	}
	for _, path := range []string{m.container.LivenessProbe.HTTPGet.Path, m.pods.Annotations["prometheus.io/path"]} {
		if status, body, err := get(relay.adminPort, "10.1.2.3:9090", path, longEnough); err != nil || status != http.StatusOK {
			fault("%s is %d %s, %w", path, status, body, err)
		}
	}
	return errors.Join(append(errs, relay.stop())...)
}

func (m *manifest) mounts(folder string) bool {
	for _, mount := range m.container.VolumeMounts {
		if mount.MountPath == folder {
			return true
		}
	}
	return false
}
