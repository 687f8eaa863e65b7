package httpapi

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
)

// The answers that are sent most are the generated ones in all but the way they
// are written: no reflection, and a buffer that is used again. So are those with
// a time: encoding/json would leave out its last zeros.
type (
	createPlant200 plantserver.CreatePlant200JSONResponse
	getPlant200    plantserver.GetPlant200JSONResponse
	listPlants200  plantserver.ListPlants200JSONResponse
	putPlant200    plantserver.PutPlant200JSONResponse
	putPlant201    plantserver.PutPlant201JSONResponse
	patchPlant200  plantserver.PatchPlant200JSONResponse
)

func (a createPlant200) VisitCreatePlantResponse(w http.ResponseWriter) error {
	w.Header()["Location"] = []string{a.Headers.Location}
	body := answerBodies.Get().(*answerBody)
	body.text = appendPlant(body.text, &a.Body)
	return body.send(w, http.StatusOK)
}

func (a getPlant200) VisitGetPlantResponse(w http.ResponseWriter) error {
	h := w.Header()
	h["Cache-Control"] = cacheControlHeader
	h["Etag"] = []string{a.Headers.ETag}
	body := answerBodies.Get().(*answerBody)
	body.text = appendStoredPlant(body.text, &a.Body)
	return body.send(w, http.StatusOK)
}

func (a listPlants200) VisitListPlantsResponse(w http.ResponseWriter) error {
	h := w.Header()
	h["Cache-Control"] = cacheControlHeader
	if a.Headers.Link != nil {
		h["Link"] = []string{*a.Headers.Link}
	}
	body := answerBodies.Get().(*answerBody)
	body.text = appendStoredPlants(body.text, a.Body)
	return body.send(w, http.StatusOK)
}

func (a putPlant200) VisitPutPlantResponse(w http.ResponseWriter) error {
	body := answerBodies.Get().(*answerBody)
	body.text = appendStoredPlant(body.text, (*plantapi.StoredPlant)(&a))
	return body.send(w, http.StatusOK)
}

func (a putPlant201) VisitPutPlantResponse(w http.ResponseWriter) error {
	w.Header()["Location"] = []string{a.Headers.Location}
	body := answerBodies.Get().(*answerBody)
	body.text = appendStoredPlant(body.text, &a.Body)
	return body.send(w, http.StatusCreated)
}

func (a patchPlant200) VisitPatchPlantResponse(w http.ResponseWriter) error {
	w.Header()["Etag"] = []string{a.Headers.ETag}
	body := answerBodies.Get().(*answerBody)
	body.text = appendStoredPlant(body.text, &a.Body)
	return body.send(w, http.StatusOK)
}

// Headers that are the same in every answer. Nobody changes the slice of a
// header that somebody else has set.
var (
	jsonTypeHeader     = []string{jsonType}
	cacheControlHeader = []string{cacheControl}
)

// answerBody is the JSON text of an answer with 200 or 201.
type answerBody struct{ text []byte }

// answerBodies are used again, but for the larger ones.
var answerBodies = sync.Pool{New: func() any { return new(answerBody) }}

// countedByServer is how much of an answer net/http holds back until it is
// whole; it says itself how long one is that ends there.
const countedByServer = 2048

// send sends the body and has it used again. It ends in a line feed, as
// everything does that encoding/json writes.
func (b *answerBody) send(w http.ResponseWriter, status int) error {
	b.text = append(b.text, '\n')
	recorderOf(w).list.made(cap(b.text))
	h := w.Header()
	h["Content-Type"] = jsonTypeHeader
	if len(b.text) >= countedByServer {
		h["Content-Length"] = []string{strconv.Itoa(len(b.text))}
	}
	w.WriteHeader(status)
	_, err := w.Write(b.text)
	if cap(b.text) <= maxPooled {
		b.text = b.text[:0]
		answerBodies.Put(b)
	}
	return err
}
