package kubernetes

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// The program runs as the container of plantstore webhook would, beside a service and with files of its own.
func TestWebhook(t *testing.T) {
	m := decode(t, "kubernetes-webhook.yaml")
	m.checkSecurity(t)
	help := program.Output(t, "webhook", "--help")
	service := program.Serve(t, "sqlite::memory:")
	folder := t.TempDir()
	const secret = "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"
	must.NoError(t, os.WriteFile(filepath.Join(folder, "secrets"), []byte(secret), 0o600))
	if *m.replicas != 1 {
		t.Errorf("there are %d replicas, and each would send every change", *m.replicas)
	}
	if grace := *m.pods.Spec.TerminationGracePeriodSeconds; grace <= 15 {
		t.Errorf("terminationGracePeriodSeconds is %d, want more than 15, the time of an attempt", grace)
	}
	if want := ":" + m.pods.Annotations["prometheus.io/port"]; m.env["PLANTSTORE_ADMIN_ADDR"] != want {
		t.Errorf("PLANTSTORE_ADMIN_ADDR is %s, want %s", m.env["PLANTSTORE_ADMIN_ADDR"], want)
	}
	var env []string
	for _, v := range m.container.Env {
		if !strings.Contains(help, v.Name) {
			t.Errorf("the program has no variable %s", v.Name)
		}
		value := v.Value
		if v.ValueFrom != nil {
			var ok bool
			if value, ok = m.secrets[v.ValueFrom.SecretKeyRef.Name][v.ValueFrom.SecretKeyRef.Key]; !ok {
				t.Errorf("the Secret has no %s", v.ValueFrom.SecretKeyRef.Key)
			}
		}
		switch v.Name {
		case "PLANTSTORE_STATE", "PLANTSTORE_SECRET_FILE":
			if !m.mounts(filepath.Dir(value)) {
				t.Errorf("%s is on no volume", value)
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
	relay, err := program.LaunchAdmin(container(folder, env, m.container.Args))
	must.NoError(t, err)
	for _, path := range []string{m.container.LivenessProbe.HTTPGet.Path, m.pods.Annotations["prometheus.io/path"]} {
		if status, body, err := get(relay.AdminURL, scraper, path, wait.Limit); err != nil || status != http.StatusOK {
			t.Errorf("%s is %d %s, %v", path, status, body, err)
		}
	}
	relay.End(t, syscall.SIGTERM)
}

func (m *manifest) mounts(folder string) bool {
	return slices.ContainsFunc(m.container.VolumeMounts, func(mount corev1.VolumeMount) bool { return mount.MountPath == folder })
}
