package contracttest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// ordersDocument is of a service that assigns identities. TYPE is their schema.
const ordersDocument = `
openapi: 3.0.3
info: {title: Orders, version: "1"}
paths:
  /orders:
    post:
      operationId: createOrder
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}
      responses:
        "201":
          description: The order.
          content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}
          links:
            read: {operationId: readOrder, parameters: {id: $response.body#/id}}
            replace: {operationId: replaceOrder, parameters: {id: $response.body#/id}}
            delete: {operationId: deleteOrder, parameters: {id: $response.body#/id}}
        "400": {description: Wrong.}
    get:
      operationId: listOrders
      parameters:
        - {name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 4, default: 2}}
        - {name: after, in: query, schema: TYPE}
        - {name: name, in: query, schema: {type: string}}
      responses:
        "200":
          description: Orders.
          headers: {Link: {schema: {type: string}}}
          content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Order'}}}}
        "400": {description: Wrong.}
  /orders/{id}:
    parameters: [{name: id, in: path, required: true, schema: TYPE}]
    get:
      operationId: readOrder
      responses:
        "200": {description: The order., content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}
        "400": {description: Wrong.}
        "404": {description: None.}
    put:
      operationId: replaceOrder
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}
      responses:
        "200": {description: The order., content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}
        "400": {description: Wrong.}
        "404": {description: None.}
    delete:
      operationId: deleteOrder
      responses: {"204": {description: Gone.}, "400": {description: Wrong.}, "404": {description: None.}}
components:
  schemas:
    Order:
      type: object
      required: [name]
      properties:
        id: {allOf: [TYPE], readOnly: true}
        name: {type: string, minLength: 1, maxLength: 40}
`

// orderService is a right server: it lists orders by id, has more of them than a page, and
// its ids are numbers or texts in no order.
func orderService(c *Contract, numbers bool) *service {
	orders := map[string]map[string]any{}
	last := 1_000_000 // where the tests begin to count
	create := func(body map[string]any) map[string]any {
		last++
		order := map[string]any{"name": body["name"]}
		id := strconv.Itoa(last)
		order["id"] = json.Number(id)
		if !numbers {
			id = fmt.Sprintf("%x", sha256.Sum256([]byte(id)))[:8]
			order["id"] = "o" + id
			id = "o" + id
		}
		orders[id] = order
		return order
	}
	for range 11 {
		create(map[string]any{"name": "old"})
	}
	one := func(then func(q call) *reply) func(call) *reply {
		return func(q call) *reply {
			if orders[q.id] == nil {
				return newReply(404, nil)
			}
			return then(q)
		}
	}
	return &service{
		contract: c, credentials: Credentials{}, failure: func(status int) *reply { return newReply(status, nil) },
		respond: map[string]func(call) *reply{
			"createOrder": func(q call) *reply { return newReply(201, create(q.body)) },
			"listOrders": func(q call) *reply {
				query, items := q.URL.Query(), []any{}
				limit, err := strconv.Atoi(query.Get("limit"))
				if err != nil {
					limit = 2
				}
				var ids []string
				for id := range orders {
					ids = append(ids, id)
				}
				slices.SortFunc(ids, func(a, b string) int { return strings.Compare(fmt.Sprintf("%30s", a), fmt.Sprintf("%30s", b)) })
				more := ""
				for _, id := range ids {
					name, after := query.Get("name"), query.Get("after")
					switch {
					case after != "" && fmt.Sprintf("%30s", id) <= fmt.Sprintf("%30s", after), query.Has("name") && name != orders[id]["name"]:
					case len(items) == limit:
						query.Set("after", fmt.Sprint(items[limit-1].(map[string]any)["id"]))
						more = query.Encode()
					default:
						items = append(items, orders[id])
					}
				}
				got := newReply(200, items)
				if more != "" {
					got.header.Set("Link", "</orders?"+more+`>; rel="next"`)
				}
				return got
			},
			"readOrder":    one(func(q call) *reply { return newReply(200, orders[q.id]) }),
			"replaceOrder": one(func(q call) *reply { orders[q.id]["name"] = q.body["name"]; return newReply(200, orders[q.id]) }),
			"deleteOrder":  one(func(q call) *reply { delete(orders, q.id); return newReply(204, nil) }),
		},
	}
}

// Services that assign numbers or texts pass if they are right, also if they list more
// than a page before what a test creates.
func TestAssignedIdentities(t *testing.T) {
	t.Parallel()
	query := func(change func(url.Values)) func(*http.Request) {
		return func(r *http.Request) {
			if values := r.URL.Query(); r.URL.Path == "/orders" {
				change(values)
				r.URL.RawQuery = values.Encode()
			}
		}
	}
	for name, schema := range map[string]string{"numbers": "{type: integer, format: int64}", "texts": "{type: string, maxLength: 20}"} {
		t.Run(name, func(t *testing.T) {
			c, err := New([]byte(strings.ReplaceAll(ordersDocument, "TYPE", schema)), Options{Service: Service{Lists: []List{{
				Operation: "listOrders", Create: "createOrder", ID: "id", Limit: "limit", After: "after", Filters: map[string]string{"name": "name"},
			}}}})
			must.NoError(t, err)
			proof(t, c, func() *service { return orderService(c, name == "numbers") }, wrongOrders(query))
		})
	}
}

// wrongOrders are services with one fault each.
func wrongOrders(query func(func(url.Values)) func(*http.Request)) map[string]wrong {
	var put atomic.Bool
	return map[string]wrong{
		"ignores after":           {by: "after", request: query(func(q url.Values) { q.Del("after") })},
		"ignores a valid name":    {by: "name", request: query(func(q url.Values) { q.Del("name") })},
		"ignores a valid limit":   {by: "limit", request: query(func(q url.Values) { replaceValue(q, "limit", "1", "2") })},
		"ends after a page":       {by: "walk by Link", response: func(_ *http.Request, a *reply) { a.header.Del("Link") }},
		"leads to the first page": {by: "walk by Link", response: func(_ *http.Request, a *reply) { setHeader(a, "Link", `</orders>; rel="next"`) }},
		"loses every order":       {by: "read sees", request: func(r *http.Request) { replaceMethod(r, "GET", "DELETE") }},
		"has one id for all":      {by: "read sees", response: edit("POST", func(o map[string]any) { o["id"] = firstOf(o["id"]) })},
		"has no ids":              {by: "read sees", response: edit("POST", func(o map[string]any) { delete(o, "id") })},
		"reads any order":         {by: "link to readOrder", response: func(r *http.Request, a *reply) { foundIf(r, a) }},
		"shows another name":      {by: "read sees", response: edit("GET", func(o map[string]any) { o["name"] = "another" })},
		"reads what was never created": {by: "link to readOrder", response: func(r *http.Request, a *reply) {
			if strings.HasPrefix(r.URL.Path, "/orders/id") || strings.HasPrefix(r.URL.Path, "/orders/2") {
				foundIf(r, a)
			}
		}},
		"reads another name until one is put": {by: "sees a create", response: func(r *http.Request, a *reply) {
			var o map[string]any
			if put.Store(put.Load() || r.Method == "PUT"); r.Method == "GET" && !put.Load() && a.status == 200 && decodeInto(a.body, &o) && o["name"] != nil {
				o["name"] = "another"
				a.body = string(jsonvalue.Encode(o))
			}
		}},
		"hides what was created": {by: "walk by Link", response: func(r *http.Request, a *reply) {
			var items []map[string]any
			if r.Method == "GET" && r.URL.Path == "/orders" && !r.URL.Query().Has("name") && json.Unmarshal([]byte(a.body), &items) == nil {
				a.body = string(jsonvalue.Encode(slices.DeleteFunc(items, func(o map[string]any) bool { return o["name"] != "old" })))
			}
		}},
		"skips an order of a page": {by: "effect of parameter after", response: func(r *http.Request, a *reply) {
			var items []any
			if r.URL.Path == "/orders" && a.status == 200 && json.Unmarshal([]byte(a.body), &items) == nil && len(items) > 1 {
				a.body = string(jsonvalue.Encode(items[1:]))
			}
		}},
	}
}

func replaceValue(q url.Values, name, from, to string) {
	if q.Get(name) == from {
		q.Set(name, to)
	}
}

func firstOf(id any) any {
	if _, ok := id.(json.Number); ok {
		return json.Number("1000001")
	}
	return "o1"
}

func foundIf(r *http.Request, a *reply) {
	if r.Method == "GET" && a.status == 404 && strings.HasPrefix(r.URL.Path, "/orders/") {
		a.status, a.body = 200, `{"name":"found"}`
		a.header.Set("Content-Type", "application/json")
	}
}
