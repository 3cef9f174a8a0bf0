// Viewer request, assets: puts tenant and plugin into the path before the cache looks it up, so that no two plugins
// share an entry. Only what has the exact shape of an asset's address reaches the bucket; the rest is 404 here.
// The label splits as tenantry_registry.names.split_label splits it (a test compares the two).

var BASE = '__BASE__';
var LABEL = /^([a-z0-9](?:-?[a-z0-9])*)-([a-z0-9]{2,20})$/;
var SLUG = /^[a-z0-9](?:-?[a-z0-9])*$/;
var TENANT = /^[a-z0-9]{2,20}$/;
var HOST_FORM = /^(?:\/v\/[0-9a-f]{12})?\/assets\/([0-9a-f]{8,64}\/.+)$/;
var PATH_FORM = /^\/t\/([^/]+)\/([^/]+)(?:\/v\/[0-9a-f]{12})?\/assets\/([0-9a-f]{8,64}\/.+)$/;
var LONGEST_LABEL = 63;
var NOT_FOUND = { statusCode: 404, statusDescription: 'Not Found', headers: { 'cache-control': { value: 'no-store' } } };

function place(host, uri) {
  if (BASE !== '' && host.endsWith('.' + BASE)) {
    var label = host.slice(0, -(BASE.length + 1));
    var parts = label.length <= LONGEST_LABEL ? label.match(LABEL) : null;
    var own = uri.match(HOST_FORM);
    return parts && own ? [parts[2], parts[1], own[1]] : null;
  }
  var found = uri.match(PATH_FORM);
  if (!found || !TENANT.test(found[1]) || !SLUG.test(found[2]) || found[2].length > LONGEST_LABEL) return null;
  return [found[1], found[2], found[3]];
}

function handler(event) {
  var request = event.request;
  var found = place(request.headers.host.value.toLowerCase(), request.uri);
  if (!found) return NOT_FOUND;
  request.uri = '/site/' + found.join('/');
  request.querystring = {};
  return request;
}
