/**
 * Report the content's height: measured by itself until the widget says a height of its own
 * (notifyIntrinsicHeight here, or MCP Apps' size-changed, which the page prefers as well).
 */
export function watchHeight(send: (height: number, measured: boolean) => void): { notify: (pixels: number) => void } {
  let told = false;
  let last = -1;

  function measure(): void {
    const { documentElement: root, body } = document;
    if (told || !body) return;
    const style = getComputedStyle(body);
    const margins = (Number.parseFloat(style.marginTop) || 0) + (Number.parseFloat(style.marginBottom) || 0);
    const content = root.scrollHeight > root.clientHeight ? root.scrollHeight : body.getBoundingClientRect().height + margins;
    const height = Math.ceil(content);
    if (height === last) return;
    last = height;
    send(height, true);
  }

  const observer = new ResizeObserver(measure);
  const begin = () => {
    observer.observe(document.documentElement);
    if (document.body) observer.observe(document.body);
    measure();
  };
  document.addEventListener("DOMContentLoaded", begin);
  window.addEventListener("load", measure);

  return {
    notify(pixels) {
      told = true;
      observer.disconnect();
      send(Math.ceil(pixels), false);
    },
  };
}
