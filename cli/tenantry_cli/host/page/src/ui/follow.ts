import { useEffect, useRef } from "preact/hooks";
import { scrollRequests, turns } from "../state/conversation";

const SETTLING = 5000; // milliseconds after a call, and after each step of it, in which a widget still finds its height

/**
 * Keep the last turn in view: at once when there is something new, and while it grows into what it is going to be. A
 * person who scrolls back up is left there. A turn higher than the transcript is shown from its top.
 */
export function useFollow() {
  const box = useRef<HTMLDivElement>(null);
  const until = useRef(0);
  const wanted = scrollRequests.value;
  const last = turns.value.at(-1);
  const phase = last?.kind === "call" ? last.phase : "";

  useEffect(() => {
    const scroller = box.current;
    const list = scroller?.querySelector("ol");
    if (!scroller || !list) return;
    let [top, height] = [scroller.scrollTop, scroller.scrollHeight];
    const grown = new ResizeObserver(() => {
      if (performance.now() < until.current) show(scroller);
      [top, height] = [scroller.scrollTop, scroller.scrollHeight];
    });
    const scrolled = () => {
      if (scroller.scrollTop < top && scroller.scrollHeight === height) until.current = 0; // by the person, not by what shrank
      [top, height] = [scroller.scrollTop, scroller.scrollHeight];
    };
    grown.observe(list);
    scroller.addEventListener("scroll", scrolled);
    return () => {
      grown.disconnect();
      scroller.removeEventListener("scroll", scrolled);
    };
  }, []);

  useEffect(() => {
    if (until.current) until.current = performance.now() + SETTLING;
  }, [phase]);

  useEffect(() => {
    if (!wanted || !box.current) return;
    until.current = performance.now() + SETTLING;
    show(box.current);
  }, [wanted]);

  return box;
}

function show(scroller: HTMLElement): void {
  scroller.querySelector(".turn:last-child")?.scrollIntoView({ block: "nearest" }); // at once: a smooth scroll is drawn in place of the widget
}
