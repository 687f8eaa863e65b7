package contracttest

import "net/http"

// calls is a service of which each operation is a POST whose body names a room. It knows one template.
func calls() *http.ServeMux {
	mux, kept := http.NewServeMux(), newShelf()
	rooms := map[string]object{}
	isText := func(value any) bool { _, is := value.(string); return is }
	isBoolean := func(value any) bool { _, is := value.(bool); return is }
	isTemplate := func(value any) bool { return value == nil || isText(value) }
	areTexts := func(value any) bool {
		list, isList := value.([]any)
		for _, item := range list {
			isList = isList && isText(item)
		}
		return isList
	}
	mux.Handle("POST /rooms/list", kept.locked(func(*http.Request) (int, any, error) {
		all := []object{}
		for _, room := range rooms {
			all = append(all, room)
		}
		return http.StatusOK, all, nil
	}))
	mux.Handle("POST /rooms/create", kept.locked(func(r *http.Request) (int, any, error) {
		room, err := readObject(r, map[string]member{"room_name": {true, isText}, "is_open": {false, isBoolean}, "template": {false, isTemplate}})
		if err != nil {
			return 0, nil, err
		}
		for name := range room {
			if name != "room_name" && name != "is_open" && name != "template" {
				return 0, nil, refused{http.StatusUnprocessableEntity, name + " is not known"}
			}
		}
		name := room["room_name"].(string)
		switch {
		case room["template"] != nil && room["template"] != "empty":
			return 0, nil, refused{http.StatusBadRequest, "the template cannot be read"}
		case rooms[name] != nil:
			return 0, nil, refused{http.StatusBadRequest, "the room exists"}
		case room["is_open"] == nil:
			room["is_open"] = false
		}
		rooms[name] = room
		return http.StatusOK, room, nil
	}))
	mux.Handle("POST /rooms/get", kept.locked(func(r *http.Request) (int, any, error) {
		wanted, err := readObject(r, map[string]member{"room_name": {true, isText}})
		if err != nil {
			return 0, nil, err
		}
		room := rooms[wanted["room_name"].(string)]
		if room == nil {
			return 0, nil, refused{http.StatusBadRequest, "there is no such room"}
		}
		return http.StatusOK, room, nil
	}))
	mux.Handle("POST /rooms/delete", kept.locked(func(r *http.Request) (int, any, error) {
		wanted, err := readObject(r, map[string]member{"rooms_names": {true, areTexts}})
		if err != nil {
			return 0, nil, err
		}
		for _, name := range wanted["rooms_names"].([]any) {
			if rooms[name.(string)] == nil {
				return 0, nil, refused{http.StatusBadRequest, "a room does not exist"}
			}
			delete(rooms, name.(string))
		}
		return http.StatusOK, nil, nil
	}))
	return mux
}
