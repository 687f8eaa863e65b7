package kubernetes

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

func TestWebhook(t *testing.T) {
	if err := checkWebhook(t, read(t, "kubernetes-webhook.yaml")); err != nil {
		t.Error(err)
	}
}

// Each of these edits of the manifest is a mistake that the checks find.
func TestWebhookFaults(t *testing.T) {
	for name, mistake := range map[string]edit{
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
			mistake.found(t, checkWebhook(t, mistake.in(t, read(t, "kubernetes-webhook.yaml"))))
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
	help := program.Output(t, "webhook", "--help")
	service := program.Serve(t, "sqlite::memory:")
	folder := t.TempDir()
	const secret = "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"
	must.NoError(t, os.WriteFile(filepath.Join(folder, "secrets"), []byte(secret), 0o600))
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
		if !strings.Contains(help, v.Name) {
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
			value = filepath.Join(folder, filepath.Base(value))
		case "PLANTSTORE_SERVER":
			value = service.URL
		case "PLANTSTORE_TOKEN":
			value = service.Token
		case "PLANTSTORE_ADMIN_ADDR":
			value = ":0"
		}
		env = append(env, v.Name+"="+value)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	relay, err := program.LaunchAdmin(container(folder, env, m.container.Args))
	if err != nil {
		return err
	}
	for _, path := range []string{m.container.LivenessProbe.HTTPGet.Path, m.pods.Annotations["prometheus.io/path"]} {
		if status, body, err := get(relay.AdminURL, scraper, path, wait.Limit); err != nil || status != http.StatusOK {
			fault("%s is %d %s, %w", path, status, body, err)
		}
	}
	relay.End(t, syscall.SIGTERM)
	return errors.Join(errs...)
}

func (m *manifest) mounts(folder string) bool {
	for _, mount := range m.container.VolumeMounts {
		if mount.MountPath == folder {
			return true
		}
	}
	return false
}
