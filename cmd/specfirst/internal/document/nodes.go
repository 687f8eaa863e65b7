package document

import (
	"iter"
	"strings"

	"go.yaml.in/yaml/v4"
)

// target returns what an alias stands for, or the node itself.
func target(node *yaml.Node) *yaml.Node {
	for node != nil && node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// members iterates over the keys and values of a mapping; of anything else, there are none.
func members(node *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		node = target(node)
		if node == nil || node.Kind != yaml.MappingNode {
			return
		}
		content := node.Content
		for i := 0; i+1 < len(content); i += 2 {
			if !yield(content[i], target(content[i+1])) {
				return
			}
		}
	}
}

// items returns the items of a sequence.
func items(node *yaml.Node) []*yaml.Node {
	node = target(node)
	if node == nil || node.Kind != yaml.SequenceNode {
		return nil
	}
	found := make([]*yaml.Node, 0, len(node.Content))
	for _, item := range node.Content {
		found = append(found, target(item))
	}
	return found
}

// find returns the member at a path of names, or nil.
func find(node *yaml.Node, names ...string) *yaml.Node {
	for _, name := range names {
		var found *yaml.Node
		for key, value := range members(node) {
			if key.Value == name {
				found = value
			}
		}
		node = found
	}
	return node
}

// text returns the text of a scalar member, or nothing.
func text(node *yaml.Node, names ...string) string {
	found := find(node, names...)
	if found == nil || found.Kind != yaml.ScalarNode {
		return ""
	}
	return found.Value
}

// set sets a member of a mapping.
func set(node *yaml.Node, name string, value *yaml.Node) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			node.Content[i+1] = value
			return
		}
	}
	node.Content = append(node.Content, scalar(name), value)
}

// remove removes members of a mapping.
func remove(node *yaml.Node, isRemoved func(name string) bool) {
	kept := node.Content[:0]
	for i := 0; i+1 < len(node.Content); i += 2 {
		if !isRemoved(node.Content[i].Value) {
			kept = append(kept, node.Content[i], node.Content[i+1])
		}
	}
	node.Content = kept
}

func scalar(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

func truth() *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"} }

func mapping(content ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: content}
}

func sequence(content ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: content}
}

// clone copies a node with all that is below. Aliases and merged keys become what they stand for, comments are left out.
func clone(node *yaml.Node) *yaml.Node {
	node = target(node)
	copied := &yaml.Node{Kind: node.Kind, Tag: node.Tag, Value: node.Value, Style: node.Style, Line: node.Line}
	for key, value := range members(node) {
		if key.Tag != "!!merge" {
			set(copied, key.Value, clone(value))
			continue
		}
		for _, merged := range append(items(value), value) {
			for name, each := range members(merged) {
				if find(node, name.Value) == nil {
					set(copied, name.Value, clone(each))
				}
			}
		}
	}
	for _, item := range items(node) {
		copied.Content = append(copied.Content, clone(item))
	}
	return copied
}

// resolve returns what a JSON pointer leads to, or nil.
func resolve(root *yaml.Node, pointer string) *yaml.Node {
	node := target(root)
	for _, part := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		part = unescape(part)
		if node != nil && node.Kind == yaml.SequenceNode {
			node = itemAt(node, part)
			continue
		}
		node = find(node, part)
	}
	return node
}
