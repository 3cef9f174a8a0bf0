// Where an authorization server sends the browser back to: hands the answer to the page that asked and closes.
const answer = Object.fromEntries(new URLSearchParams(location.search));
const channel = new BroadcastChannel("tenantry-sign-in");
channel.postMessage(answer);
channel.close();
window.close();

export {};
