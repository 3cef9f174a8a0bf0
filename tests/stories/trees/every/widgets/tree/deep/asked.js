export const picture = new URL("../cat.svg", import.meta.url).href;
export async function compiled() {
  const module = await WebAssembly.instantiateStreaming(fetch(new URL("./empty.wasm", import.meta.url)));
  return module.instance instanceof WebAssembly.Instance;
}
