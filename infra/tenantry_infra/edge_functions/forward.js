// Viewer request, everything that is not an asset: tells the gateway which host was asked for, the control plane (whose
// audit names it) from which address, and sends the control plane's host to its path. The API behind has its own Host,
// so the viewer's travels in x-forwarded-host; values that the viewer sent are overwritten here.

var BASE = '__BASE__';

function handler(event) {
  var request = event.request;
  var host = request.headers.host.value.toLowerCase();
  request.headers['x-forwarded-host'] = { value: host };
  request.headers['x-tenantry-viewer'] = { value: event.viewer.ip };
  if (BASE === '') return request;
  if (host === 'api.' + BASE) {
    request.uri = '/api' + request.uri;
  } else if (host.endsWith('.' + BASE) && (request.uri === '/api' || request.uri.startsWith('/api/'))) {
    return { statusCode: 404, statusDescription: 'Not Found' }; // a plugin's host has no control plane
  }
  return request;
}
