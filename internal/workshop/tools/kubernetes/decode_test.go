package kubernetes

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"

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
)

// decoder decodes as the API server does with strict validation: unknown and
// duplicate members are errors.
var decoder = sync.OnceValue(func() runtime.Decoder {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
})

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

func decode(text string) (*manifest, error) {
	secrets := map[string]map[string]string{}
	m := &manifest{env: map[string]string{}, secrets: secrets}
	selects := func(s *metav1.LabelSelector) error {
		selector, err := metav1.LabelSelectorAsSelector(s)
		m.selectors = append(m.selectors, selector)
		return err
	}
	for documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text))); ; {
		document, err := documents.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		object, _, err := decoder().Decode(document, nil, nil)
		if err != nil {
			return nil, err
		}
		switch o := object.(type) {
		case *appsv1.Deployment:
			m.replicas, m.selector, m.pods, m.rolling = o.Spec.Replicas, o.Spec.Selector, o.Spec.Template, o.Spec.Strategy.RollingUpdate
		case *appsv1.StatefulSet:
			m.replicas, m.selector, m.pods = o.Spec.Replicas, o.Spec.Selector, o.Spec.Template
			for _, claim := range o.Spec.VolumeClaimTemplates {
				m.volumes = append(m.volumes, claim.Name)
			}
		case *corev1.Service:
			err = selects(&metav1.LabelSelector{MatchLabels: o.Spec.Selector})
			for _, port := range o.Spec.Ports {
				m.ports = append(m.ports, port.TargetPort)
			}
		case *corev1.Secret:
			secrets[o.Name] = o.StringData
		case *policyv1.PodDisruptionBudget:
			m.budget = o
			err = selects(o.Spec.Selector)
		case *networkingv1.NetworkPolicy:
			err = selects(&o.Spec.PodSelector)
			for _, rule := range o.Spec.Ingress {
				for _, port := range rule.Ports {
					m.ports = append(m.ports, *port.Port)
				}
			}
		default:
			err = fmt.Errorf("a test for %T is missing", o)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(m.pods.Spec.Containers) != 1 || m.selector == nil {
		return nil, errors.New("there is no Deployment or StatefulSet with one container")
	}
	m.container = m.pods.Spec.Containers[0]
	for _, v := range m.pods.Spec.Volumes {
		m.volumes = append(m.volumes, v.Name)
	}
	for _, c := range m.pods.Spec.InitContainers {
		for _, from := range c.EnvFrom {
			if _, ok := secrets[from.SecretRef.Name]; !ok {
				return nil, fmt.Errorf("there is no Secret %s", from.SecretRef.Name)
			}
		}
	}
	for _, c := range m.pods.Spec.TopologySpreadConstraints {
		if err := selects(c.LabelSelector); err != nil {
			return nil, err
		}
	}
	for _, from := range m.container.EnvFrom {
		secret, ok := secrets[from.SecretRef.Name]
		if !ok {
			return nil, fmt.Errorf("there is no Secret %s", from.SecretRef.Name)
		}
		maps.Copy(m.env, secret)
	}
	for _, v := range m.container.Env {
		m.env[v.Name] = v.Value
	}
	return m, selects(m.selector)
}
