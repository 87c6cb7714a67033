import { type RefObject, useEffect, useRef, useState } from "react";

/**
 * Watches a mark at the end of something that scrolls, in whatever box it scrolls. Answers the mark's ref, and whether
 * the mark is in view; as long as nobody can tell, it counts as in view.
 */
export function useEndInView(): [mark: RefObject<HTMLDivElement | null>, inView: boolean] {
  const mark = useRef<HTMLDivElement>(null);
  const [inView, setInView] = useState(true);
  useEffect(() => {
    const element = mark.current;
    if (!element || typeof IntersectionObserver === "undefined") return;
    const observer = new IntersectionObserver((seen) => setInView(seen.at(-1)?.isIntersecting ?? true));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [mark, inView];
}
