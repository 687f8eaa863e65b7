// Consumer is a program in another module that uses only the generated client of
// the Plant Store. A test builds it, runs it against the service and compares its
// output.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/oapi-codegen/nullable"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantclient"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	writer, reader, unknown := dial(os.Getenv("WRITER")), dial(os.Getenv("READER")), dial("unknown")

	// Create a plant, the same again, another one with its id, and a batch.
	ficus := plantapi.NewPlant{ID: 1, Name: "Ficus lyrata", Tag: new("Moraceae")}
	for _, p := range []plantapi.NewPlant{ficus, ficus, {ID: 1, Name: "Ficus elastica"}} {
		r, err := writer.CreatePlantWithResponse(ctx, p)
		if err != nil {
			return err
		}
		fmt.Println("create:", outcome(r.JSON200 != nil, r.JSON400, r.JSON401, r.JSON403, r.JSON500, r.JSON503))
	}
	var many plantapi.NewPlants
	for id := range int64(1000) {
		many.Plants = append(many.Plants, plantapi.NewPlant{ID: 100 + id, Name: "Ficus benjamina"})
	}
	batch, err := writer.CreatePlantsWithResponse(ctx, many)
	if err != nil {
		return err
	}
	fmt.Println("create many:", outcome(batch.JSON200 != nil, batch.JSON400, batch.JSON401, batch.JSON403, batch.JSON500, batch.JSON503))
	many.Plants[17].Name = "Ficus carica"
	if batch, err = writer.CreatePlantsWithResponse(ctx, many); err != nil {
		return err
	}
	fmt.Println("create many:", outcome(batch.JSON200 != nil, batch.JSON400, batch.JSON401, batch.JSON403, batch.JSON500, batch.JSON503))

	// The other failures.
	for _, client := range []*plantclient.ClientWithResponses{reader, unknown} {
		r, err := client.CreatePlantWithResponse(ctx, ficus)
		if err != nil {
			return err
		}
		fmt.Println("create:", outcome(r.JSON200 != nil, r.JSON400, r.JSON401, r.JSON403, r.JSON500, r.JSON503))
	}
	list, err := reader.ListPlantsWithResponse(ctx, &plantapi.ListPlantsParams{Limit: new(int32(0))})
	if err != nil {
		return err
	}
	fmt.Println("list:", outcome(list.JSON200 != nil, list.JSON400, list.JSON401, list.JSON403, list.JSON500, list.JSON503))
	missing, err := reader.GetPlantWithResponse(ctx, 2, nil)
	if err != nil {
		return err
	}
	fmt.Println("get:", outcome(missing.JSON200 != nil, missing.JSON400, missing.JSON401, missing.JSON403, missing.JSON404, missing.JSON500, missing.JSON503))

	// Page through everything.
	plants, pages := 0, 0
	for params := (plantapi.ListPlantsParams{Limit: new(int32(300))}); ; pages++ {
		page, err := reader.ListPlantsWithResponse(ctx, &params)
		if err != nil {
			return err
		}
		if page.JSON200 == nil {
			return errors.New(page.Status())
		}
		for _, p := range *page.JSON200 {
			params.After = &p.ID
			plants++
		}
		if page.Headers200.Link == nil {
			break
		}
	}
	fmt.Println("list:", plants, "plants, and", pages, "times more followed")

	// Update the version that was read; a write with a stale ETag is refused.
	read, err := reader.GetPlantWithResponse(ctx, 1, nil)
	if err != nil {
		return err
	}
	version := &plantapi.PatchPlantParams{IfMatch: &read.Headers200.ETag}
	for _, tag := range []nullable.Nullable[string]{nullable.NewNullNullable[string](), nullable.NewNullableWithValue("late")} {
		r, err := writer.PatchPlantWithApplicationMergePatchPlusJSONBodyWithResponse(ctx, 1, version, plantapi.PlantPatch{Tag: tag})
		if err != nil {
			return err
		}
		fmt.Println("update:", outcome(r.JSON200 != nil && r.JSON200.Tag == nil, r.JSON400, r.JSON401, r.JSON403, r.JSON404, r.JSON412, r.JSON500, r.JSON503))
	}
	known, err := reader.GetPlantWithResponse(ctx, 1, &plantapi.GetPlantParams{IfNoneMatch: version.IfMatch})
	if err != nil {
		return err
	}
	fmt.Println("get:", known.StatusCode(), known.JSON200.Name, known.JSON200.ETag != read.JSON200.ETag)
	gone, err := writer.DeletePlantWithResponse(ctx, 1, nil)
	if err != nil {
		return err
	}
	fmt.Println("delete:", gone.StatusCode())
	return nil
}

func dial(token string) *plantclient.ClientWithResponses {
	client, err := plantclient.NewClientWithResponses(os.Getenv("SERVER"),
		plantclient.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+token)
			return nil
		}))
	if err != nil {
		log.Fatal(err)
	}
	return client
}

// outcome names the failure of an operation: one that the document describes,
// or none.
func outcome(ok bool, failures ...*plantapi.Error) string {
	if ok {
		return "done"
	}
	for _, e := range failures {
		if e == nil {
			continue
		}
		switch code := plantapi.ErrorCode(e.Error); code {
		case plantapi.CodeIDTaken:
			return "taken, " + (*e.Details)[0].Pointer
		case plantapi.CodeInvalidParameter:
			return "mistaken, " + (*e.Details)[0].Pointer
		case plantapi.CodeBadCredentials:
			return "unknown token"
		case plantapi.CodeInsufficientScope:
			return "not allowed without " + string(plantapi.ScopeWrite)
		case plantapi.CodeNoSuchPlant:
			return "no such plant"
		case plantapi.CodePreconditionFailed:
			return "somebody else was first"
		default:
			return fmt.Sprintf("%d, which is known: %t", code, code.Valid())
		}
	}
	return "a response that the document does not describe"
}
