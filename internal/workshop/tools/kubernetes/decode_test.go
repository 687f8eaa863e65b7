package kubernetes

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// decoder decodes as the API server does with strict validation: unknown and
// duplicate members are errors.
func decoder(t *testing.T) runtime.Decoder {
	t.Helper()
	scheme := runtime.NewScheme()
	must.NoError(t, errors.Join(appsv1.AddToScheme(scheme), corev1.AddToScheme(scheme), networkingv1.AddToScheme(scheme),
		policyv1.AddToScheme(scheme)))
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}

// manifest is what a file of manifests has.
type manifest struct {
	replicas  *int32
	selector  *metav1.LabelSelector // of the Deployment or the StatefulSet
	pods      corev1.PodTemplateSpec
	container corev1.Container // the only one beside the init containers
	env       map[string]string
	secrets   map[string]map[string]string
	selectors []labels.Selector    // of pods
	ports     []intstr.IntOrString // of pods
	volumes   []string
	budget    *policyv1.PodDisruptionBudget
	rolling   *appsv1.RollingUpdateDeployment
}

// decode decodes a file beside the program.
func decode(t *testing.T, name string) *manifest {
	t.Helper()
	m := &manifest{env: map[string]string{}, secrets: map[string]map[string]string{}}
	selects := func(s *metav1.LabelSelector) {
		selector, err := metav1.LabelSelectorAsSelector(s)
		must.NoError(t, err)
		m.selectors = append(m.selectors, selector)
	}
	for documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(read(t, name)))); ; {
		document, err := documents.Read()
		if err == io.EOF {
			break
		}
		must.NoError(t, err)
		object, _, err := decoder(t).Decode(document, nil, nil)
		must.NoError(t, err)
		switch o := object.(type) {
		case *appsv1.Deployment:
			m.replicas, m.selector, m.pods, m.rolling = o.Spec.Replicas, o.Spec.Selector, o.Spec.Template, o.Spec.Strategy.RollingUpdate
		case *appsv1.StatefulSet:
			m.replicas, m.selector, m.pods = o.Spec.Replicas, o.Spec.Selector, o.Spec.Template
			for _, claim := range o.Spec.VolumeClaimTemplates {
				m.volumes = append(m.volumes, claim.Name)
			}
		case *corev1.Service:
			selects(&metav1.LabelSelector{MatchLabels: o.Spec.Selector})
			for _, port := range o.Spec.Ports {
				m.ports = append(m.ports, port.TargetPort)
			}
		case *corev1.Secret:
			m.secrets[o.Name] = o.StringData
		case *policyv1.PodDisruptionBudget:
			m.budget = o
			selects(o.Spec.Selector)
		case *networkingv1.NetworkPolicy:
			selects(&o.Spec.PodSelector)
			for _, rule := range o.Spec.Ingress {
				for _, port := range rule.Ports {
					m.ports = append(m.ports, *port.Port)
				}
			}
		default:
			t.Errorf("a test for %T is missing", o)
		}
	}
	if len(m.pods.Spec.Containers) != 1 || m.selector == nil {
		t.Fatal("there is no Deployment or StatefulSet with one container")
	}
	m.container = m.pods.Spec.Containers[0]
	for _, v := range m.pods.Spec.Volumes {
		m.volumes = append(m.volumes, v.Name)
	}
	for _, c := range m.pods.Spec.TopologySpreadConstraints {
		selects(c.LabelSelector)
	}
	selects(m.selector)
	for _, c := range append(m.pods.Spec.InitContainers, m.container) {
		for _, from := range c.EnvFrom {
			if m.secrets[from.SecretRef.Name] == nil {
				t.Errorf("there is no Secret %s", from.SecretRef.Name)
			}
		}
	}
	for _, from := range m.container.EnvFrom {
		maps.Copy(m.env, m.secrets[from.SecretRef.Name])
	}
	for _, v := range m.container.Env {
		m.env[v.Name] = v.Value
	}
	return m
}
