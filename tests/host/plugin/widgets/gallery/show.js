export function show(id, text) {
  document.getElementById(id).textContent = text;
}
