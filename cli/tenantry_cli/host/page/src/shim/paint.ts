/** Report the document's first paint, once, as milliseconds since 1970: the page has a clock of its own. */
export function watchPaint(send: (at: number) => void): void {
  const observer = new PerformanceObserver((list) => {
    const entry = list.getEntries()[0];
    if (!entry) return;
    observer.disconnect();
    send(performance.timeOrigin + entry.startTime);
  });
  observer.observe({ type: "paint", buffered: true });
}
