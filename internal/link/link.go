// Package link makes the targets of links in pages from paths of files.
package link

import (
	"net/url"
	"path"
	"path/filepath"
	"strings"
)

// To is the target of a link to a file or a folder, in HTML and in Markdown. A relative path gives a relative link, and a slash at its
// end stays. What an address, a browser or Markdown would take for its own is escaped: a link names the file and nothing else.
func To(name string) string {
	name = filepath.ToSlash(name)
	u := url.URL{Path: path.Clean(name)} // two slashes at the beginning would name a host
	if strings.HasSuffix(name, "/") && u.Path != "/" {
		u.Path += "/"
	}
	if filepath.VolumeName(filepath.FromSlash(name)) != "" { // a drive looks like a scheme
		u = url.URL{Scheme: "file", Path: "/" + u.Path}
	}
	// String writes ./ before a colon in the first part. Markdown knows entities such as &lt; in links.
	return strings.ReplaceAll(u.String(), "&", "%26")
}
