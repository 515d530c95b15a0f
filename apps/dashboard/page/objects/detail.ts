import { useEffect, useRef, useState } from 'preact/hooks';

/** The loaded details of an object, or the reason why they are missing. */
export interface Loaded<T> {
  readonly data?: T;
  readonly problem?: string;
}

const GAP_MS = 1_000;

/**
 * Loads the details of an object.
 * @param read Parses the text of the response
 */
export function useLoaded<T>(url: string, version: unknown, read: (text: string) => T): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({});
  const last = useRef({ url: '', at: 0 });
  useEffect(() => {
    let ended = false;
    const isNew = last.current.url !== url;
    if (isNew) setLoaded({});
    const wait = isNew ? 0 : Math.max(0, last.current.at + GAP_MS - performance.now());
    const timer = setTimeout(async () => {
      last.current = { url, at: performance.now() };
      try {
        const answer = await fetch(url);
        const text = await answer.text();
        if (ended) return;
        setLoaded((before) => (answer.ok ? { data: read(text) } : { ...before, problem: text.trim() }));
      } catch {
        if (!ended) setLoaded((before) => ({ ...before, problem: 'The dashboard does not respond.' }));
      }
    }, wait);
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [url, version]);
  return loaded;
}

export const readJson = <T>(text: string): T => JSON.parse(text) as T;
