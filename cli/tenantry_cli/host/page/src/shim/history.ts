import type { Place } from "../channel";

/**
 * Take the host's query off the address before anything else reads it, and report where the widget is from then on.
 * `navigation` knows this frame's own entries, so going back never leaves the widget.
 */
export function watchHistory(send: (place: Place) => void): { place: () => Place; go: (to: "back" | "forward") => void } {
  const query = new URLSearchParams(location.search);
  const wanted = query.get("_path") ?? "/";
  if (query.has("_doc")) {
    const path = wanted.startsWith("/") && !wanted.startsWith("//") ? wanted : "/";
    history.replaceState(history.state, "", path);
  }

  const place = (): Place => ({
    path: location.pathname + location.search + location.hash,
    back: navigation.canGoBack,
    forward: navigation.canGoForward,
  });
  const tell = () => send(place());
  navigation.addEventListener("currententrychange", tell);
  window.addEventListener("popstate", tell);

  return {
    place,
    go(to) {
      if (to === "back" && navigation.canGoBack) navigation.back();
      if (to === "forward" && navigation.canGoForward) navigation.forward();
    },
  };
}
