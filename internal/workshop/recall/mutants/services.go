package main

import "fmt"

// service is a program that is not ours.
type service struct {
	name      string
	group     string // of its mutants, in the table
	module    string
	main      string // package
	document  string // in the module
	without   string // a path that is taken out of the document, because it reaches for other machines
	files     []pool // that are mutated
	arguments func(host, port string) []string
}

// pool is a set of files, and how many mutants are drawn of it.
type pool struct {
	folder string
	files  []string
	draw   int
}

const (
	goSwagger = "github.com/go-swagger/go-swagger"
	tutorial  = "examples/tutorials/todo-list/server-complete"
	configure = "examples/auto-configure"
)

// bindings are the files of a service of go-swagger that read requests and write responses. They are generated.
var bindings = []string{
	"models/item.go",
	"restapi/operations/todos/add_one.go", "restapi/operations/todos/add_one_parameters.go", "restapi/operations/todos/add_one_responses.go",
	"restapi/operations/todos/destroy_one.go", "restapi/operations/todos/destroy_one_parameters.go", "restapi/operations/todos/destroy_one_responses.go",
	"restapi/operations/todos/find_todos.go", "restapi/operations/todos/find_todos_parameters.go", "restapi/operations/todos/find_todos_responses.go",
	"restapi/operations/todos/update_one.go", "restapi/operations/todos/update_one_parameters.go", "restapi/operations/todos/update_one_responses.go",
}

// services are mutated where they have handlers and stores: not in main, nor in what sends and receives mail.
var services = []service{
	{
		name: "todolist", group: "mutants: a to-do list", module: goSwagger, main: tutorial + "/cmd/todo-list-server", document: tutorial + "/swagger.yml",
		files:     []pool{{tutorial, []string{"restapi/configure_todo_list.go"}, 20}, {tutorial, bindings, 14}},
		arguments: goSwaggerArguments,
	},
	{
		name: "keytodolist", group: "mutants: a to-do list with a key", module: goSwagger, main: configure + "/cmd/a-to-do-list-application-server", document: configure + "/swagger.yml",
		files:     []pool{{configure, []string{"implementation/auth_impl.go", "implementation/todos_impl.go"}, 18}, {configure, bindings, 14}},
		arguments: goSwaggerArguments,
	},
	{
		name: "mailpit", group: "mutants: Mailpit", module: "github.com/axllent/mailpit", main: ".", document: "server/ui/api/v1/swagger.json",
		without: "/api/v1/message/{ID}/link-check",
		files: []pool{
			{"server/apiv1", []string{"api.go", "message.go", "messages.go", "send.go", "tags.go"}, 34},
			{"internal/storage", []string{"messages.go", "search.go", "tags.go"}, 44},
		},
		arguments: func(host, port string) []string {
			return []string{"--listen", host + ":" + port, "--smtp", host + ":0", "--quiet", "--disable-version-check"}
		},
	},
}

func goSwaggerArguments(host, port string) []string { return []string{"--host", host, "--port", port} }

func find(name string) (service, error) {
	for _, one := range services {
		if one.name == name {
			return one, nil
		}
	}
	return service{}, fmt.Errorf("no service is called %q", name)
}
