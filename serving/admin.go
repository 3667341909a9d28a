package serving

import (
	"net/http"
)

// adminHandler answers the repository extension of the protocol: it changes what is served, and so has an address of
// its own.
func (s *Server) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v2/repository/index", s.allow(func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, http.StatusOK, s.set.Index())
	}))
	change := func(path string, f func(string) error) {
		mux.HandleFunc("POST /v2/repository/models/{model}/"+path, s.allow(func(w http.ResponseWriter, r *http.Request) {
			err := f(r.PathValue("model"))
			if err != nil && statusOf(err) == http.StatusInternalServerError {
				err = &failure{http.StatusBadRequest, err} // the file is wrong, not the server
			}
			if err != nil {
				sendError(w, err)
				return
			}
			sendJSON(w, http.StatusOK, map[string]string{})
		}))
	}
	change("load", s.set.Load)
	change("unload", s.set.Unload)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		sendError(w, failed(http.StatusNotFound, "there is no %s %s: see POST /v2/repository/index, "+
			"/v2/repository/models/MODEL/load and /unload", r.Method, r.URL.Path))
	})
	return mux
}
