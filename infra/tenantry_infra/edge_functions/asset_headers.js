// Viewer response, assets: a tenant's HTML or SVG opened by itself runs nothing (a stored object has no room for a
// Content-Security-Policy). CloudFront does not run this for an error of the origin, which has no such body.

var ACTIVE = /^(?:text\/html|image\/svg\+xml|application\/xhtml\+xml|(?:text|application)\/xml)/;

function handler(event) {
  var response = event.response;
  var type = response.headers['content-type'];
  if (type && ACTIVE.test(type.value.toLowerCase())) {
    response.headers['content-security-policy'] = { value: 'sandbox' };
  }
  return response;
}
